#pragma once

#include <algorithm>
#include <cstdint>

namespace simmesh {

// Chunk is a contiguous range of a dim.
struct Chunk {
  std::int64_t start = 0;
  std::int64_t length = 0;
};

// ChunkRequest asks for one of the parts of a dim.
struct ChunkRequest {
  std::int64_t size;
  std::int64_t parts;
  std::int64_t index;
};

// chunk_of is the rule of torch.chunk: parts of ceil(size / parts) elements, of which the last ones
// may be short or empty.
inline Chunk chunk_of(const ChunkRequest& request) {
  std::int64_t length = request.size / request.parts + (request.size % request.parts != 0);
  // A chunk past the last element; the test also keeps the product below from overflowing.
  if (length == 0 || request.index > request.size / length) return {request.size, 0};
  std::int64_t start = std::min(length * request.index, request.size);
  return {start, std::min(length, request.size - start)};
}

}  // namespace simmesh
