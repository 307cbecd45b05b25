#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "checkpoint/store/store.h"
#include "core/tensor/tensor.h"

namespace simmesh::checkpoint {

// ChunkWriter appends chunks to a file from where they lie in memory, in pieces that are hashed and
// written while they are in the cache. What is small is gathered and written at once, so what was
// appended is in the file only after flush.
class ChunkWriter {
 public:
  // The file lives longer.
  explicit ChunkWriter(OutputFile& file) : file_(file) {}

  // append writes bytes; or the elements of a tensor, row-major whatever its strides, and returns
  // their bits_hash. Raises what the file raises.
  void append(Bytes bytes);
  std::uint64_t append(const Tensor& part);
  // flush writes what was gathered.
  void flush();

 private:
  OutputFile& file_;
  std::vector<std::byte> gathered_;
};

}  // namespace simmesh::checkpoint
