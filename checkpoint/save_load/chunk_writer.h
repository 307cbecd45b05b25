#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint/store/store.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ChunkWriter appends chunks to a file straight from memory, in pieces that are hashed and written
// while they are in the cache. Small pieces are gathered and written at once, so appended bytes are
// in the file only after flush.
class ChunkWriter {
 public:
  // The file must outlive this.
  explicit ChunkWriter(OutputFile& file) : file_(file) {}

  // append writes bytes, or the elements of a tensor in row-major order. It returns the bits_hash
  // of the elements. Raises what the file raises.
  void append(Bytes bytes);
  std::uint64_t append(const Tensor& part);
  // flush writes the gathered pieces.
  void flush();

 private:
  OutputFile& file_;
  std::vector<std::byte> gathered_;
};

}  // namespace simmesh::checkpoint
