#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/catalog.h"
#include "checkpoint/store/store.h"
#include "core/check/bits_hash.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ChunkReader reads the row-major bytes of a chunk of a checkpoint from the first to the last, in
// pieces of any length, straight to where they go. With the last piece they are compared with the
// hash that the checkpoint has of them; they are hashed as they come, while they are in the cache.
class ChunkReader {
 public:
  // Store, tensor and chunk live longer. Raises a ValueError that names the file where it doesn't
  // have the chunk's bytes, or, of a torch archive, its shape and dtype.
  ChunkReader(const Store& store, const std::string& folder, const StoredTensor& tensor,
              const StoredChunk& chunk);

  // bytes returns how many the chunk has.
  std::int64_t bytes() const { return bytes_; }
  // read fills `out` with the next bytes, of which there are as many. Raises a ValueError that
  // names file, tensor and bytes behind the last byte of a chunk that isn't what was saved.
  void read(MutableBytes out);
  // read_all fills a tensor of the chunk's sizes with all of its elements, through the strides.
  void read_all(Tensor& part);

 private:
  void read_raw(MutableBytes out);
  void compare(std::uint64_t hash) const;

  std::string place_;  // of the file
  const StoredTensor& tensor_;
  const StoredChunk& chunk_;
  std::int64_t bytes_ = 0, at_ = 0;
  std::unique_ptr<InputFile> file_;
  std::vector<std::byte> unpacked_;  // of a torch archive
  std::optional<BitsHash> hash_;     // of a chunk that comes in several pieces
};

}  // namespace simmesh::checkpoint
