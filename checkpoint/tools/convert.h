#pragma once

#include <cstdint>
#include <string_view>

#include "checkpoint/catalog/location.h"

namespace simmesh::checkpoint {

// CheckpointFormat is a form in which convert writes.
enum class CheckpointFormat : std::uint8_t {
  simmesh,      // ours
  safetensors,  // as Hugging Face stores models: whole tensors, in several files with an index
  dcp,          // torch.distributed.checkpoint's own
};

// to_string returns the name: "simmesh", "safetensors" or "dcp"; format_from_string is its inverse,
// and raises a ValueError that lists the names.
std::string_view to_string(CheckpointFormat format);
CheckpointFormat format_from_string(std::string_view name);

// ConvertOptions say what is written.
struct ConvertOptions {
  CheckpointFormat format = CheckpointFormat::simmesh;
  // Of safetensors: a file is ended once it has so many bytes.
  std::int64_t file_bytes = std::int64_t{5} << 30;
  // Just the weights, under the model's own names: what is under "model." or "master.", without
  // that word, and nothing else.
  bool weights_only = false;
};

// ConvertReport is what a conversion wrote.
struct ConvertReport {
  std::int64_t tensors = 0, objects = 0, bytes = 0;
};

// convert reads a checkpoint of any format that `open` knows and writes all of it in another one;
// one tensor at a time is in memory. Values that are no tensors become text metadata in
// safetensors. Raises a ValueError where the target exists, for a checkpoint that is broken, and
// for a dtype that the format doesn't have; nothing is left behind then. With weights_only it
// raises one too where the checkpoint has no weights, or two of one name.
ConvertReport convert(const Location& from, const Location& to, const ConvertOptions& options);

}  // namespace simmesh::checkpoint
