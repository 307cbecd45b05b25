#pragma once

// Like lanes.h: chains of floats in double, and the test whether they settle the rounded sums.
namespace simmesh::SIMMESH_KERNELS {
namespace {

#if SIMMESH_VECTOR_BYTES == 64
inline constexpr int wide_rows = 14;
#elif SIMMESH_VECTOR_BYTES == 32
inline constexpr int wide_rows = 6;
#else
inline constexpr int wide_rows = 4;
#endif
inline constexpr int wide_vectors = 2, wide_lanes = lanes_of<double>,
                     wide_width = wide_vectors * wide_lanes;

typedef float HalfFloats __attribute__((vector_size(vector_bytes / 2)));
typedef float LooseHalfFloats __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));
typedef std::int32_t HalfInts __attribute__((vector_size(vector_bytes / 2)));

#if SIMMESH_VECTOR_BYTES == 64
inline unsigned lanes_set(HalfInts x) { return unsigned(_mm256_movemask_ps(__m256(x))); }
#elif SIMMESH_VECTOR_BYTES == 32
inline unsigned lanes_set(HalfInts x) { return unsigned(_mm_movemask_ps(__m128(x))); }
#else
inline unsigned lanes_set(HalfInts x) { return (x[0] ? 1u : 0u) | (x[1] ? 2u : 0u); }
#endif

// x * x + sum, rounded once or twice.
template <class Vector>
Vector square_added(Vector x, Vector sum) {
#if SIMMESH_VECTOR_BYTES > 16
  return fused(x, x, sum);
#else
  return x * x + sum;
#endif
}

// Squares of floats are added as floats where these neither overflow nor vanish, which is known
// from their sum.
inline void add_squares(const WideTile& tile, Floats sum) {
  constexpr float least = 0x1p-90f, most = 0x1p126f;
  bool settled = true;
  for (int l = 0; l < wide_width; ++l) settled = settled && sum[l] > least && sum[l] < most;
  if (settled) {
    for (int l = 0; l < wide_width; ++l) tile.squares[l] += double(sum[l]);
    return;
  }
  for (int v = 0; v < wide_vectors; ++v) {
    double* squares = tile.squares + v * wide_lanes;
    Doubles total = load(squares);
    for (std::int64_t k = 0; k < tile.depth; ++k) {
      Doubles x = load_wide(tile.b + k * tile.b_depth_stride + v * wide_lanes);
      total = square_added(x, total);
    }
    store(squares, total);
  }
}

// The tile's registers leave one for the squares of its columns where it has fewer rows.
inline constexpr int squaring_rows = wide_rows - 2;

template <int rows, int vectors, bool squares>
void wide_tile_of(const WideTile& tile, double* c, bool begin) {
  Doubles sums[rows][vectors] = {};
  Floats square_sum{};
  const double* a = tile.a;
  const float* b = tile.b;
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < tile.depth; ++k, a += wide_rows, b += tile.b_depth_stride) {
    Doubles row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) row[v] = load_wide(b + v * wide_lanes);
    if constexpr (squares) square_sum = square_added(load(b), square_sum);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      Doubles factor = splat(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = exactly_fused(factor, row[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      double* to = c + r * wide_width + v * wide_lanes;
      store(to, begin ? sums[r][v] : load(to) + sums[r][v]);
    }
  if constexpr (squares) add_squares(tile, square_sum);
}

template <int rows>
void wide_tile_rows(const WideTile& tile, double* c, bool begin) {
  if constexpr (rows > 0) {
    if (tile.rows != rows) return wide_tile_rows<rows - 1>(tile, c, begin);
    if (rows <= squaring_rows && tile.squares)
      return tile.vectors == 1 ? wide_tile_of<rows, 1, rows <= squaring_rows>(tile, c, begin)
                               : wide_tile_of<rows, 2, rows <= squaring_rows>(tile, c, begin);
    if (tile.squares) {
      Floats sum{};
      for (std::int64_t k = 0; k < tile.depth; ++k)
        sum = square_added(load(tile.b + k * tile.b_depth_stride), sum);
      add_squares(tile, sum);
    }
    tile.vectors == 1 ? wide_tile_of<rows, 1, false>(tile, c, begin)
                      : wide_tile_of<rows, 2, false>(tile, c, begin);
  }
}

inline void wide_tile(const WideTile& tile, double* c, bool begin) {
  wide_tile_rows<wide_rows>(tile, c, begin);
}

// Two vectors cover the rows of a panel; where they overlap, both say the same.
inline void widen_panel(const float* panel, std::int64_t depth, double* out, double* squares) {
  constexpr int second = wide_rows - wide_lanes;
  Doubles sums[2] = {};
  for (std::int64_t k = 0; k < depth; ++k, panel += wide_rows, out += wide_rows) {
    Doubles low = load_wide(panel), high = load_wide(panel + second);
    store(out, low);
    store(out + second, high);
    sums[0] = square_added(low, sums[0]);
    sums[1] = square_added(high, sums[1]);
  }
  double totals[wide_rows];
  store(totals, sums[0]);
  store(totals + second, sums[1]);
  for (int r = 0; r < wide_rows; ++r) squares[r] += totals[r];
}

// A row of a panel; the number of its elements that the bounds leave open is added to `open`.
inline void round_wide_row(const WideSums& s, std::int64_t i, std::int64_t j, std::int64_t& open) {
  const double* sums = s.sums + j / wide_width * s.panel_stride + i * wide_width;
  bool whole = s.columns - j >= wide_width;
  float edge[wide_width];
  float* out = whole ? s.out + i * s.out_row_stride + j : edge;
  unsigned unsettled = 0;
#pragma GCC unroll 4
  for (int v = 0; v < wide_vectors; ++v) {
    Doubles sum = load(sums + v * wide_lanes);
    Doubles bound = splat(s.row_bounds[i]) * load(s.column_bounds + j + v * wide_lanes);
    HalfFloats low = __builtin_convertvector(sum - bound, HalfFloats);
    HalfFloats high = __builtin_convertvector(sum + bound, HalfFloats);
    *reinterpret_cast<LooseHalfFloats*>(out + v * wide_lanes) = high;
    // NaNs have bits of their own, so each is looked at.
    auto differ = HalfInts(HalfInts(low) != HalfInts(high)) | HalfInts(high - high != HalfFloats{});
    unsettled |= lanes_set(differ) << v * wide_lanes;
  }
  std::int64_t count = whole ? wide_width : s.columns - j;
  if (!whole)
    for (std::int64_t l = 0; l < count; ++l) s.out[i * s.out_row_stride + j + l] = edge[l];
  for (unsettled &= (1u << count) - 1; unsettled != 0; unsettled &= unsettled - 1)
    s.unsettled[open++] = std::int32_t(i * s.columns + j + __builtin_ctz(unsettled));
}

// A few rows at a time, whose lines of the result stay in the cache from panel to panel.
inline std::int64_t round_wide(const WideSums& s) {
  constexpr std::int64_t rows_at_once = 16;
  std::int64_t open = 0;
  for (std::int64_t begin = 0; begin < s.rows; begin += rows_at_once) {
    std::int64_t end = begin + rows_at_once < s.rows ? begin + rows_at_once : s.rows;
    for (std::int64_t j = 0; j < s.columns; j += wide_width)
      for (std::int64_t i = begin; i < end; ++i) round_wide_row(s, i, j, open);
  }
  return open;
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
