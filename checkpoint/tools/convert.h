#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// ConvertReport counts what a conversion wrote, and names what it left out.
struct ConvertReport {
  std::int64_t tensors = 0, objects = 0, bytes = 0;
  // The classes of values, or of parts of them, that aren't read.
  std::vector<std::string> unread_classes = {};
  // Tensors whose dtype the format doesn't have, each with its dtype: "w (C128)".
  std::vector<std::string> unheld_tensors = {};
};

// convert reads a checkpoint of any format that `open` knows and writes all of it in another
// format, with one tensor at a time in memory. Values that are no tensors become text metadata in
// safetensors. Values of classes that aren't read, and tensors of a dtype that the format doesn't
// have, are left out. Raises a ValueError if the target exists, for a broken checkpoint, and for a
// format that is only read. With weights_only it also raises one if the checkpoint has no weights,
// or two of one name. Leaves nothing behind if it raises.
ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options);

}  // namespace simmesh::checkpoint
