#pragma once

// Like lanes.h: copies of the blocks of two loops.
#include <utility>

namespace simmesh::SIMMESH_KERNELS {
namespace {

template <class Copy>
void each_block(const CopyPlane& plane, std::byte* target, const std::byte* source, Copy copy) {
  // Bytes that are written could be the loops' own, for all that the compiler knows.
  const CopyLoop outer = plane.rows, inner = plane.columns;
  for (std::int64_t i = 0; i < outer.size; ++i) {
    std::byte* to = target + i * outer.target;
    const std::byte* from = source + i * outer.source;
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < inner.size; ++j) {
      copy(to, from);
      to += inner.target;
      from += inner.source;
    }
  }
}

// Short blocks are most of a copy's time, so each common size has code of its own.
template <std::size_t bytes>
void copy_blocks(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  each_block(plane, target, source,
             [](std::byte* to, const std::byte* from) { __builtin_memcpy(to, from, bytes); });
}

// Blocks in words of the given size, which they exceed; the last one may overlap the one before it.
template <std::int64_t word>
void copy_words(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  std::int64_t bytes = plane.bytes;
  each_block(plane, target, source, [=](std::byte* to, const std::byte* from) {
    for (std::int64_t at = 0; at + word < bytes; at += word)
      __builtin_memcpy(to + at, from + at, word);
    __builtin_memcpy(to + bytes - word, from + bytes - word, word);
  });
}

// Copies blocks of 8 bytes that become neighbours, two at a time.
inline void copy_pairs(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  typedef std::uint64_t WordPair __attribute__((vector_size(16)));
  typedef std::uint64_t LoosePair __attribute__((vector_size(16), aligned(1), may_alias));
  typedef std::uint64_t LooseWord __attribute__((aligned(1), may_alias));
  const CopyLoop outer = plane.rows, inner = plane.columns;
  for (std::int64_t i = 0; i < outer.size; ++i) {
    std::byte* to = target + i * outer.target;
    const std::byte* from = source + i * outer.source;
    std::int64_t j = 0;
#pragma GCC unroll 4
    for (; j + 2 <= inner.size; j += 2) {
      WordPair pair = {*reinterpret_cast<const LooseWord*>(from),
                       *reinterpret_cast<const LooseWord*>(from + inner.source)};
      *reinterpret_cast<LoosePair*>(to) = pair;
      to += 16;
      from += 2 * inner.source;
    }
    if (j < inner.size) __builtin_memcpy(to, from, 8);
  }
}

inline void copy_each(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  std::int64_t bytes = plane.bytes;
  switch (bytes) {
    case 1: return copy_blocks<1>(plane, target, source);
    case 2: return copy_blocks<2>(plane, target, source);
    case 4: return copy_blocks<4>(plane, target, source);
    case 8:
      return plane.columns.target == 8 ? copy_pairs(plane, target, source)
                                       : copy_blocks<8>(plane, target, source);
    case 16: return copy_blocks<16>(plane, target, source);
    case 32: return copy_blocks<32>(plane, target, source);
    case 64: return copy_blocks<64>(plane, target, source);
    default: break;
  }
  if (bytes > 8 && bytes < 16) return copy_words<8>(plane, target, source);
  if (bytes > 16 && bytes < 64) return copy_words<16>(plane, target, source);
  if (bytes > 64 && bytes <= 4 * vector_bytes)
    return copy_words<vector_bytes>(plane, target, source);
  each_block(plane, target, source, [=](std::byte* to, const std::byte* from) {
    __builtin_memcpy(to, from, std::size_t(bytes));
  });
}

// A square of elements, a row of which fills a vector of 16 bytes.
template <class T>
struct Square {
  static constexpr int side = 16 / int(sizeof(T));
  typedef T Row __attribute__((vector_size(16)));
  typedef T LooseRow __attribute__((vector_size(16), aligned(1), may_alias));

  // The elements of half of a, starting at first, and of b in turns.
  template <int first, int... lane>
  static Row interleaved(Row a, Row b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, (first + lane / 2 + lane % 2 * side)...);
  }

  // Copies the square whose columns begin source_stride apart to rows that are target_stride apart.
  static void transpose(std::byte* to, std::int64_t target_stride, const std::byte* from,
                        std::int64_t source_stride) {
    Row rows[side], turned[side];
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i)
      rows[i] = *reinterpret_cast<const LooseRow*>(from + i * source_stride);
#pragma GCC unroll 4
    for (int done = 1; done < side; done *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < side / 2; ++i) {
        auto lanes = std::make_integer_sequence<int, side>{};
        turned[2 * i] = interleaved<0>(rows[i], rows[i + side / 2], lanes);
        turned[2 * i + 1] = interleaved<side / 2>(rows[i], rows[i + side / 2], lanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < side; ++i) rows[i] = turned[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < side; ++i) *reinterpret_cast<LooseRow*>(to + i * target_stride) = rows[i];
  }
};

// Elements whose columns are contiguous in the target and whose rows are in the source: squares,
// as many side by side as fill a cache line of the target, and what is left one by one.
template <class T>
void copy_transposed(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  constexpr std::int64_t side = Square<T>::side, line = 64 / std::int64_t(sizeof(T));
  const CopyLoop rows = plane.rows, columns = plane.columns;
  std::int64_t whole_rows = rows.size / side * side, whole = columns.size / side * side;
  for (std::int64_t begin = 0; begin < whole; begin += line) {
    std::int64_t end = begin + line < whole ? begin + line : whole;
    for (std::int64_t i = 0; i < whole_rows; i += side)
      for (std::int64_t j = begin; j < end; j += side)
        Square<T>::transpose(target + i * rows.target + j * columns.target, rows.target,
                             source + i * rows.source + j * columns.source, columns.source);
  }
  CopyPlane right = plane, below = plane;
  right.rows.size = whole_rows;
  right.columns.size -= whole;
  below.rows.size -= whole_rows;
  copy_blocks<sizeof(T)>(right, target + whole * columns.target, source + whole * columns.source);
  copy_blocks<sizeof(T)>(below, target + whole_rows * rows.target,
                         source + whole_rows * rows.source);
}

inline void copy_plane(const CopyPlane& plane, std::byte* target, const std::byte* source) {
  std::int64_t bytes = plane.bytes;
  CopyPlane turned = plane;
  if (plane.rows.target == bytes && plane.columns.source == bytes) {
    turned.rows = plane.columns;
    turned.columns = plane.rows;
  }
  if (turned.columns.target == bytes && turned.rows.source == bytes) {
    if (bytes == 1) return copy_transposed<std::uint8_t>(turned, target, source);
    if (bytes == 2) return copy_transposed<std::uint16_t>(turned, target, source);
    if (bytes == 4) return copy_transposed<std::uint32_t>(turned, target, source);
    if (bytes == 8) return copy_transposed<std::uint64_t>(turned, target, source);
  }
  copy_each(plane, target, source);
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
