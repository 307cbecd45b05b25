#pragma once

// Like lanes.h: products of slices, which are integers, and their placing into digits.
namespace simmesh::SIMMESH_KERNELS {
namespace {

inline std::int32_t magnitude(const float* p) {
  return __builtin_bit_cast(std::int32_t, *p) & 0x7FFFFFFF;
}

typedef std::int64_t SignedInts __attribute__((vector_size(vector_bytes)));

// The largest and smallest magnitudes of lines, as the bits of floats; less one, zero is the
// largest.
inline void magnitude_ranges(const FloatPanels& p, std::uint32_t* largest,
                             std::uint32_t* smallest_less_one) {
  constexpr std::int64_t lanes = lanes_of<float>;
  if (p.line_stride == 1) {
    for (std::int64_t l = 0; l < p.line_count; ++l) {
      largest[l] = 0;
      smallest_less_one[l] = ~std::uint32_t(0);
    }
    for (std::int64_t k = 0; k < p.depth; ++k)
      for (std::int64_t l = 0; l < p.line_count; ++l) {
        std::uint32_t x = std::uint32_t(magnitude(p.data + l + k * p.depth_stride)), less = x - 1;
        largest[l] = x > largest[l] ? x : largest[l];
        smallest_less_one[l] = less < smallest_less_one[l] ? less : smallest_less_one[l];
      }
    return;
  }
  for (std::int64_t l = 0; l < p.line_count; ++l) {
    const float* line = p.data + l * p.line_stride;
    FoldBits most{}, least = FoldBits{} - 1;
    std::int64_t k = 0;
    if (p.depth_stride == 1)
      for (; k + lanes <= p.depth; k += lanes) {
        FoldBits bits = FoldBits(load(line + k)) & 0x7FFFFFFF, less = bits - 1;
        most = bits > most ? bits : most;
        least = less < least ? less : least;
      }
    largest[l] = 0;
    smallest_less_one[l] = ~std::uint32_t(0);
    for (std::int64_t i = 0; i < lanes; ++i) {
      largest[l] = most[i] > largest[l] ? most[i] : largest[l];
      smallest_less_one[l] = least[i] < smallest_less_one[l] ? least[i] : smallest_less_one[l];
    }
    for (; k < p.depth; ++k) {
      std::uint32_t x = std::uint32_t(magnitude(line + k * p.depth_stride)), less = x - 1;
      largest[l] = x > largest[l] ? x : largest[l];
      smallest_less_one[l] = less < smallest_less_one[l] ? less : smallest_less_one[l];
    }
  }
}

// Adding and subtracting the constant of a slice rounds to a multiple of its last bit; the rest is
// for the slices below.
inline void slice_off(double* rest, std::int64_t count, const SliceOff& slice, double* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    double here = (rest[i] + slice.constant) - slice.constant;
    out[i] = here * slice.scale + slice.offset;
    rest[i] = (rest[i] - here) + slice.offset_of_rest;
  }
}
// The integers below 2^52 that are the low bits of doubles, added up for each line.
inline void line_sums(const double* slice, std::int64_t depth, std::int64_t width,
                      std::int64_t* sums) {
  const Ints exponent = Ints(splat(0x1p52)) * std::uint64_t(depth);
  for (std::int64_t l = 0; l < width; l += wide_lanes) {
    Ints sum{};
    for (std::int64_t k = 0; k < depth; ++k) sum += Ints(load(slice + k * width + l));
    store(sums + l, sum - exponent);
  }
}

// Sums of doubles of at most 53 bits as integers, in two halves of the bits.
inline void chain_integers(const double* sums, std::int64_t rows, std::int64_t* low,
                           std::int64_t* high) {
  constexpr double middle = 0x1.8p78, unit = 0x1.8p52;
  for (std::int64_t i = 0; i < rows * wide_width; i += wide_lanes) {
    Doubles sum = load(sums + i), upper = (sum + middle) - middle;
    SignedInts whole = SignedInts((upper * 0x1p-26) + unit) - SignedInts(splat(unit));
    SignedInts part = SignedInts((sum - upper) + unit) - SignedInts(splat(unit));
    store(low + i, Ints((whole << 26) + part));
    store(high + i, Ints{});
  }
}

// Offsets of 2^51 in both factors leave 2^51 times the sums of the lines, less the depth * 2^102
// that they hold twice.
inline void remove_offsets(const SlicedTile& tile, std::int64_t* low, std::int64_t* high) {
  const auto depth_part = std::uint64_t(tile.depth) << 50;
  for (int r = 0; r < tile.rows; ++r)
    for (int v = 0; v < wide_vectors; ++v) {
      std::int64_t at = r * wide_width + v * wide_lanes;
      Ints lines = load(tile.column_sums + v * wide_lanes) + std::uint64_t(tile.row_sums[r]);
      store(high + at, load(high + at) - (lines >> 1) + depth_part);
      store(low + at, load(low + at) - ((lines & 1) << 51));
    }
}

// high * 2^52 + low times 2^shift goes into four digits; the last takes the sign.
inline void place_tile(const SlicedTile& tile, const std::int64_t* low, const std::int64_t* high,
                       std::int64_t* digits) {
  constexpr std::uint64_t mask = 0xFFFFFFFF;
  for (int r = 0; r < tile.rows; ++r) {
    int digit = tile.shifts[r] >> 5, shift = tile.shifts[r] & 31;
    for (int v = 0; v < wide_vectors; ++v) {
      std::int64_t at = r * wide_width + v * wide_lanes;
      auto l = SignedInts(load(low + at)), h = SignedInts(load(high + at));
      h += l >> 52;
      l &= (std::int64_t(1) << 52) - 1;
      Ints parts[4] = {Ints(l) & mask, (Ints(l >> 32) | Ints(h) << 20) & mask, Ints(h >> 12) & mask,
                       Ints(h >> 44)};
      std::int64_t* to = digits + digit * tile.digit_stride + at;
      Ints above{};
#pragma GCC unroll 4
      for (int d = 0; d < 4; ++d, to += tile.digit_stride) {
        Ints moved = parts[d] << shift;
        store(to, load(to) + (d < 3 ? moved & mask : moved) + above);
        above = moved >> 32;
      }
    }
  }
}

// Carries leave all digits but the highest within 2^31.
inline void finish_digits(const FinishedDigits& f) {
  typedef std::int32_t LooseHalfInts
      __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));
  SignedInts carried[wide_rows][wide_vectors] = {};
  const int vectors = f.columns > wide_lanes ? wide_vectors : 1;
  for (int d = 0; d < f.all_digits; ++d) {
    Ints seen = load(f.seen + d * wide_lanes);
    for (int r = 0; r < f.rows; ++r)
      for (int v = 0; v < vectors; ++v) {
        std::int64_t column = v * wide_lanes;
        std::int64_t* from = f.digits + d * f.digit_stride + r * wide_width + column;
        SignedInts x = SignedInts(load(from)) + carried[r][v];
        store(from, Ints{});
        SignedInts kept = x << 32 >> 32;
        carried[r][v] = (x - kept) >> 32;
        seen |= Ints(kept);
        if (d >= f.digit_count) continue;
        std::int32_t* to = f.out + d * f.out_digit_stride + r * f.out_row_stride + column;
        auto narrow = __builtin_convertvector(kept, HalfInts);
        if (column + wide_lanes <= f.columns)
          *reinterpret_cast<LooseHalfInts*>(to) = narrow;
        else
          for (std::int64_t l = 0; column + l < f.columns; ++l) to[l] = narrow[l];
      }
    store(f.seen + d * wide_lanes, seen);
  }
}

#if SIMMESH_VECTOR_BYTES == 64
// The low and high halves of products of unsigned integers of 52 bits.
template <int rows>
__attribute__((target("avx512ifma"))) void ifma_tile_of(const SlicedTile& tile, std::int64_t* low,
                                                        std::int64_t* high) {
  __m512i sums[rows][2][2];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
    for (auto& half : sums[r]) half[0] = half[1] = _mm512_setzero_si512();
  const double *a = tile.a, *b = tile.b;
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < tile.depth; ++k, a += 8, b += 16) {
    __m512i first = _mm512_loadu_si512(b), second = _mm512_loadu_si512(b + 8);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      __m512i factor = _mm512_castpd_si512(_mm512_set1_pd(a[r]));
      sums[r][0][0] = _mm512_madd52lo_epu64(sums[r][0][0], factor, first);
      sums[r][0][1] = _mm512_madd52lo_epu64(sums[r][0][1], factor, second);
      sums[r][1][0] = _mm512_madd52hi_epu64(sums[r][1][0], factor, first);
      sums[r][1][1] = _mm512_madd52hi_epu64(sums[r][1][1], factor, second);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      _mm512_storeu_si512(low + r * 16 + v * 8, sums[r][0][v]);
      _mm512_storeu_si512(high + r * 16 + v * 8, sums[r][1][v]);
    }
}
template <int rows>
void ifma_rows(const SlicedTile& tile, std::int64_t* low, std::int64_t* high) {
  if constexpr (rows > 0)
    tile.rows == rows ? ifma_tile_of<rows>(tile, low, high) : ifma_rows<rows - 1>(tile, low, high);
}
inline void ifma_tile(const SlicedTile& tile, std::int64_t* low, std::int64_t* high) {
  ifma_rows<7>(tile, low, high);
  remove_offsets(tile, low, high);
}
inline constexpr auto sliced_tile = &ifma_tile;
#else
inline constexpr void (*sliced_tile)(const SlicedTile&, std::int64_t*, std::int64_t*) = nullptr;
#endif

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
