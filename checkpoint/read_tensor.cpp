#include "checkpoint/read_tensor.h"

#include "checkpoint/dcp/dcp_checkpoint.h"
#include "core/check/bits_hash.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

std::vector<std::byte> read_chunk(const Store& store, const std::string& folder,
                                  const StoredTensor& tensor, const StoredChunk& chunk) {
  if (chunk.encoding == StoredChunk::Encoding::torch_archive)
    return read_dcp_chunk(store, folder, tensor, chunk);
  std::string file = joined(folder, chunk.file);
  std::int64_t size = store.size(file).value_or(0);
  if (chunk.begin > size || chunk.bytes > size - chunk.begin)
    raise(ErrorKind::value_error, "checkpoint/read", "{}: '{}' {} ends behind the file's {} bytes",
          joined(store.name(), file), tensor.name, to_string(chunk.box), size);
  std::vector<std::byte> bytes(static_cast<std::size_t>(chunk.bytes));
  store.read(file, chunk.begin, bytes);
  if (chunk.hash && bits_hash(bytes) != *chunk.hash)
    raise(ErrorKind::value_error, "checkpoint/read",
          "{}, bytes [{}, {}): '{}' {} is corrupt: its checksum isn't the one it was saved with",
          joined(store.name(), file), chunk.begin, chunk.begin + chunk.bytes, tensor.name,
          to_string(chunk.box));
  return bytes;
}

std::vector<std::byte> read_tensor(const Store& store, const std::string& folder,
                                   const StoredTensor& tensor) {
  // One chunk may have a type of less than a byte.
  if (tensor.chunks.size() == 1) return read_chunk(store, folder, tensor, tensor.chunks[0]);
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
    std::vector<std::byte> part = read_chunk(store, folder, tensor, chunk);
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
