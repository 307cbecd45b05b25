#pragma once

#include <cstdint>

#include "checkpoint/catalog/location.h"
#include "checkpoint/format/formats.h"

namespace simmesh::checkpoint {

// ConvertOptions are the options of a conversion.
struct ConvertOptions {
  const Format& format = simmesh_format;  // one that can be written
  WriteOptions write = {};
  // Only the weights, under the model's own names: the tensors under "model." or "master.", without
  // that word, and nothing else.
  bool weights_only = false;
};

// ConvertReport counts what a conversion wrote.
struct ConvertReport {
  std::int64_t tensors = 0, objects = 0, bytes = 0;
};

// convert reads a checkpoint of any format that `open` knows and writes all of it in another
// format, with one tensor at a time in memory. Values that are no tensors become text metadata in
// safetensors. Raises a ValueError if the target exists, for a broken checkpoint, for a format that
// is only read, and for a dtype that the format doesn't have. With weights_only it also raises one
// if the checkpoint has no weights, or two of one name. Leaves nothing behind if it raises.
ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options);

}  // namespace simmesh::checkpoint
