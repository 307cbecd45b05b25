#include "checkpoint/save_load/chunk_writer.h"

#include <algorithm>

#include "checkpoint/catalog/box.h"
#include "checkpoint/catalog/piece.h"
#include "core/check/bits_hash.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::checkpoint {

namespace {

// From this size on, a copy costs more than a write of its own.
constexpr std::size_t gathered_bytes_max = 64 << 10;

}  // namespace

void ChunkWriter::append(Bytes bytes) {
  if (gathered_.size() + bytes.size() > gathered_bytes_max) flush();
  if (bytes.size() > gathered_bytes_max) return file_.append(bytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

std::uint64_t ChunkWriter::append(const Tensor& own) {
  Tensor part = known_tensor(own, "a piece of a checkpoint");
  if (part.bytes() <= cached_bytes && part.is_contiguous()) {
    Bytes bytes = {part.data(), part.bytes()};
    append(bytes);
    return bits_hash(bytes);
  }
  BitsHash hash;
  auto append_piece = [&](Bytes piece) {
    hash.update(piece);
    append(piece);
  };
  if (part.is_contiguous()) {
    for (Bytes left = {part.data(), part.bytes()}; !left.empty();) {
      Bytes piece = left.first(std::min(left.size(), cached_bytes));
      append_piece(piece);
      left = left.subspan(piece.size());
    }
    return hash.value();
  }
  auto elements = std::int64_t(cached_bytes / bytes_per_element(part.dtype()));
  for (const Box& box : contiguous_blocks(whole(part.shape()), elements))
    append_piece(packed(part_of(part, box)));
  return hash.value();
}

void ChunkWriter::flush() {
  if (gathered_.empty()) return;
  file_.append(gathered_);
  gathered_.clear();
}

}  // namespace simmesh::checkpoint
