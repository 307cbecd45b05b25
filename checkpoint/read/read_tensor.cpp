#include "checkpoint/read/read_tensor.h"

#include "checkpoint/read/chunk_reader.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

std::vector<std::byte> read_chunk(const Store& store, const OpenCheckpoint& checkpoint,
                                  const StoredTensor& tensor, const StoredChunk& chunk) {
  ChunkReader reader(store, checkpoint, tensor, chunk);
  std::vector<std::byte> bytes(static_cast<std::size_t>(reader.bytes()));
  reader.read(bytes);
  return bytes;
}

std::vector<std::byte> read_tensor(const Store& store, const OpenCheckpoint& checkpoint,
                                   const StoredTensor& tensor) {
  // Elements of less than a byte can only be read from one chunk.
  if (tensor.chunks.size() == 1) return read_chunk(store, checkpoint, tensor, tensor.chunks[0]);
  std::int64_t bits = bits_per_element(tensor.dtype);
  if (bits % 8 != 0)
    raise(ErrorKind::value_error, "checkpoint/read",
          "'{}': elements of {} can't be put together from {} chunks", tensor.name,
          to_string(tensor.dtype), tensor.chunks.size());
  auto width = std::size_t(bits / 8);
  Strides strides = contiguous_strides(tensor.shape);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
  for (const StoredChunk& chunk : tensor.chunks) {
    if (chunk.box.is_empty()) continue;
    std::vector<std::byte> part = read_chunk(store, checkpoint, tensor, chunk);
    std::int64_t begin = element_offset(chunk.box.offsets, strides);
    copy_box({.sizes = chunk.box.sizes,
              .element_bytes = width,
              .from_strides = contiguous_strides(chunk.box.sizes),
              .to_strides = strides},
             part.data(), bytes.data() + std::size_t(begin) * width);
  }
  return bytes;
}

}  // namespace simmesh::checkpoint
