#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/format/open_checkpoint.h"

namespace simmesh::checkpoint {

// CheckpointSource is a checkpoint that is written in another format: what it holds, and functions
// that return the row-major bytes of a tensor and of a chunk of its catalog.
struct CheckpointSource {
  const Catalog& catalog;
  std::function<std::vector<std::byte>(const StoredTensor& tensor)> tensor_bytes;
  std::function<std::vector<std::byte>(const StoredTensor& tensor, const StoredChunk& chunk)>
      chunk_bytes;
};

// WriteOptions say how a checkpoint is written.
struct WriteOptions {
  // safetensors: a file is ended once it has so many bytes.
  std::int64_t file_bytes = std::int64_t{5} << 30;
};

// Format is a format of checkpoints, in one value. Whoever opens, reads, verifies or converts
// checkpoints asks the list in checkpoint/format/formats.h and knows no format by itself.
//
//   const Format dcp_format = {.name = "dcp",
//                              .title = "PyTorch's DCP",
//                              .marks = ".metadata",
//                              .opens = open_dcp,
//                              .writes = write_dcp,
//                              .decodes = read_dcp_chunk};
struct Format {
  std::string_view name;   // of Catalog::format, and of `simmesh checkpoint convert --format`
  std::string_view title;  // for people
  std::string_view marks;  // the files by which it is known, for messages

  // opens returns the checkpoint that lies at a place; nullopt if none of this format does. The
  // place may be a folder, a file, or nothing. Raises a ValueError for a checkpoint that is broken.
  std::optional<OpenCheckpoint> (&opens)(const Location& location);

  // writes writes a checkpoint, one tensor in memory at a time. Raises a ValueError where something
  // is at the place already, and leaves nothing behind where it raises. Null: the format is read
  // only.
  void (*writes)(const CheckpointSource& source, const Location& to,
                 const WriteOptions& options) = nullptr;

  // decodes returns the row-major bytes of a chunk, of which StoredChunk::bytes in the file are
  // another form. Null: the chunk's bytes are the row-major elements.
  std::vector<std::byte> (*decodes)(const Store& store, const std::string& folder,
                                    const StoredTensor& tensor, const StoredChunk& chunk) = nullptr;

  // problems returns a sentence for everything that is wrong with the files, beside the bytes of
  // chunks. Null: the format tells no more.
  std::vector<std::string> (*problems)(const Location& location,
                                       const OpenCheckpoint& opened) = nullptr;
};

}  // namespace simmesh::checkpoint
