#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/format/open_checkpoint.h"
#include "checkpoint/store/store.h"
#include "core/check/bits_hash.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ChunkReader reads the row-major bytes of a chunk from the first to the last, in pieces of any
// length, straight to their places. Each piece is hashed while it is in the cache. With the last
// piece the hash is compared with the checkpoint's, if it has one.
class ChunkReader {
 public:
  // Store, tensor and chunk must outlive this. Raises a ValueError that names the file if it
  // doesn't have the chunk's bytes, or if they decode to another shape or dtype.
  ChunkReader(const Store& store, const OpenCheckpoint& checkpoint, const StoredTensor& tensor,
              const StoredChunk& chunk);

  // bytes returns the number of the chunk's bytes.
  std::int64_t bytes() const { return bytes_; }
  // read fills `out` with the next bytes. There must be as many. Raises a ValueError that names
  // file, tensor and bytes after the last byte of a chunk that isn't what was saved.
  void read(MutableBytes out);
  // read_all fills a tensor of the chunk's sizes with all of its elements, through its strides.
  void read_all(Tensor& part);

 private:
  void read_strided();
  void read_raw(MutableBytes out);
  void compare(std::uint64_t hash) const;

  std::string place_;  // the file's, for messages
  const StoredTensor& tensor_;
  const StoredChunk& chunk_;
  std::int64_t bytes_ = 0, at_ = 0;
  std::unique_ptr<InputFile> file_;
  std::vector<std::byte> decoded_;  // all bytes, if the file has another form of them
  std::optional<BitsHash> hash_;    // so far, if the chunk comes in several pieces
};

}  // namespace simmesh::checkpoint
