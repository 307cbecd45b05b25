#include "core/arithmetic/sums/scratch.h"

#include <algorithm>

namespace simmesh {

struct Scratch::Kept {
  std::vector<Piece> pieces;
  std::size_t bytes = 0;

  static Kept& of_thread() {
    thread_local Kept kept;
    return kept;
  }
};

std::byte* Scratch::take_bytes(std::size_t size) {
  constexpr std::size_t alignment = 64, grain = 64 * 1024;
  size = (size + alignment + grain - 1) / grain * grain;
  Kept& kept = Kept::of_thread();
  // Takes the smallest piece that is large enough.
  auto best = kept.pieces.end();
  for (auto piece = kept.pieces.begin(); piece != kept.pieces.end(); ++piece)
    if (piece->size >= size && (best == kept.pieces.end() || piece->size < best->size))
      best = piece;
  if (best != kept.pieces.end()) {
    kept.bytes -= best->size;
    pieces_.push_back(std::move(*best));
    kept.pieces.erase(best);
  } else {
    pieces_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  }
  auto address = reinterpret_cast<std::uintptr_t>(pieces_.back().bytes.get());
  return pieces_.back().bytes.get() + (alignment - address % alignment) % alignment;
}

Scratch::~Scratch() {
  constexpr std::size_t kept_bytes_max = std::size_t(4) << 20;
  constexpr std::size_t kept_pieces_max = 16;
  Kept& kept = Kept::of_thread();
  for (Piece& piece : pieces_)
    if (kept.bytes + piece.size <= kept_bytes_max && kept.pieces.size() < kept_pieces_max) {
      kept.bytes += piece.size;
      kept.pieces.push_back(std::move(piece));
    }
}

}  // namespace simmesh
