#include "checkpoint/read/chunk_reader.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/catalog/piece.h"
#include "checkpoint/format/formats.h"
#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

ChunkReader::ChunkReader(const Store& store, const OpenCheckpoint& checkpoint,
                         const StoredTensor& tensor, const StoredChunk& chunk)
    : tensor_(tensor), chunk_(chunk), bytes_(chunk.bytes) {
  if (const Format* format = find_format(checkpoint.catalog.format); format && format->decodes) {
    decoded_ = format->decodes(store, checkpoint.folder, tensor, chunk);
    bytes_ = std::int64_t(decoded_.size());
    return;
  }
  std::string file = joined(checkpoint.folder, chunk.file);
  place_ = joined(store.name(), file);
  std::int64_t size = store.size(file).value_or(0);
  if (chunk.begin > size || chunk.bytes > size - chunk.begin)
    raise(ErrorKind::value_error, "checkpoint/read", "{}: '{}' {} ends after the file's {} bytes",
          place_, tensor.name, to_string(chunk.box), size);
  file_ = store.open(file);
  if (chunk.strides) read_strided();
}

// Reads all elements of a chunk that aren't row-major, and puts them in order.
void ChunkReader::read_strided() {
  auto width = std::size_t(bits_per_element(tensor_.dtype) / 8);
  const Strides& strides = *chunk_.strides;
  std::int64_t count = chunk_.box.numel(), last = 0;
  for (std::size_t dim = 0; dim < strides.size(); ++dim)
    if (std::int64_t reach;
        __builtin_mul_overflow(chunk_.box.sizes[dim] - 1, strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      last = chunk_.bytes;
  // With a stride of zero, a small file could have any number of elements.
  if (count > 0 && (last >= chunk_.bytes / std::int64_t(width) || count > last + 1))
    raise(ErrorKind::value_error, "checkpoint/read", "{}: '{}' {} has strides that lead out of it",
          place_, tensor_.name, to_string(chunk_.box));
  std::vector<std::byte> stored(static_cast<std::size_t>(chunk_.bytes));
  file_->read(chunk_.begin, stored);
  file_.reset();
  decoded_.resize(std::size_t(count) * width);
  bytes_ = std::int64_t(decoded_.size());
  if (count > 0)
    copy_box({.sizes = chunk_.box.sizes,
              .element_bytes = width,
              .from_strides = strides,
              .to_strides = contiguous_strides(chunk_.box.sizes)},
             stored.data(), decoded_.data());
}

void ChunkReader::read(MutableBytes out) {
  SIMMESH_CHECK(std::int64_t(out.size()) <= bytes_ - at_, "{} bytes of {} at {}", out.size(),
                bytes_, at_);
  if (file_)
    read_raw(out);
  else if (!out.empty())
    std::memcpy(out.data(), decoded_.data() + at_, out.size());
  at_ += std::int64_t(out.size());
}

void ChunkReader::read_all(Tensor& part) {
  SIMMESH_CHECK(std::int64_t(part.bytes()) == bytes_ && at_ == 0, "{} bytes for {} from {} on",
                part.bytes(), bytes_, at_);
  if (part.is_contiguous()) return read({part.mutable_data(), part.bytes()});
  std::vector<std::byte> bytes;
  auto elements = std::int64_t(cached_bytes / bytes_per_element(part.dtype()));
  for (const Box& block : contiguous_blocks(whole(part.shape()), elements)) {
    Tensor to = part_of(part, block);
    bytes.resize(to.bytes());
    read(bytes);
    unpack(bytes, to);
  }
}

void ChunkReader::read_raw(MutableBytes out) {
  std::int64_t begin = chunk_.begin + at_, end = at_ + std::int64_t(out.size());
  if (!chunk_.hash) return file_->read(begin, out);
  if (at_ == 0 && end == bytes_ && out.size() <= cached_bytes) {
    file_->read(begin, out);
    return compare(bits_hash(out));
  }
  if (!hash_) hash_.emplace();
  for (MutableBytes left = out; !left.empty();) {
    MutableBytes piece = left.first(std::min(left.size(), cached_bytes));
    file_->read(begin, piece);
    hash_->update(piece);
    begin += std::int64_t(piece.size());
    left = left.subspan(piece.size());
  }
  if (end == bytes_) compare(hash_->value());
}

void ChunkReader::compare(std::uint64_t hash) const {
  if (hash == *chunk_.hash) return;
  raise(ErrorKind::value_error, "checkpoint/read",
        "{}, bytes [{}, {}): '{}' {} is corrupt: its checksum differs from the saved one", place_,
        chunk_.begin, chunk_.begin + chunk_.bytes, tensor_.name, to_string(chunk_.box));
}

}  // namespace simmesh::checkpoint
