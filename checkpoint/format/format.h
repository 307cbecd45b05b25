#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/catalog/stored_dtype.h"
#include "checkpoint/format/open_checkpoint.h"

namespace simmesh::checkpoint {

// CheckpointSource is a checkpoint that is written in another format: its catalog, and functions
// that return the row-major bytes of a tensor and of a chunk.
struct CheckpointSource {
  const Catalog& catalog;
  std::function<std::vector<std::byte>(const StoredTensor& tensor)> tensor_bytes;
  std::function<std::vector<std::byte>(const StoredTensor& tensor, const StoredChunk& chunk)>
      chunk_bytes;
};

// WriteOptions are the options of a format that writes.
struct WriteOptions {
  // The most bytes of a safetensors file with several tensors.
  std::int64_t file_bytes = std::int64_t{5} << 30;
};

// Format is a format of checkpoints, as one value. open, convert, verify, the reader of chunks and
// the command ask the list in checkpoint/format/formats.h. They know no format by themselves.
struct Format {
  std::string_view name;   // in Catalog::format and in `simmesh checkpoint convert --format`
  std::string_view title;  // in the command's help
  std::string_view marks;  // the files by which it is known, in messages

  // opens returns the checkpoint at a place, nullopt if there is none of this format. The place may
  // be a folder, a file, or nothing. Raises a ValueError for a broken checkpoint.
  std::optional<OpenCheckpoint> (&opens)(const Location& location);

  // writes writes a checkpoint, with one tensor at a time in memory. Raises a ValueError if
  // something is at the place already. Leaves nothing behind if it raises. Null: the format is only
  // read.
  void (*writes)(const CheckpointSource& source, const Location& to,
                 const WriteOptions& options) = nullptr;

  // holds is true for the dtypes that can be written. Null: all of them.
  bool (*holds)(StoredDType dtype) = nullptr;

  // decodes returns the row-major bytes of a chunk, whose file has another form of them. Null: the
  // file has the row-major bytes.
  std::vector<std::byte> (*decodes)(const Store& store, const std::string& folder,
                                    const StoredTensor& tensor, const StoredChunk& chunk) = nullptr;

  // problems returns a sentence for each problem of the files, except for problems of chunks. Null:
  // the format has nothing else to check.
  std::vector<std::string> (*problems)(const Location& location,
                                       const OpenCheckpoint& opened) = nullptr;
};

}  // namespace simmesh::checkpoint
