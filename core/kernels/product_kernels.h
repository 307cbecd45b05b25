#pragma once

// Like lanes.h: the inner loops of products for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

#if SIMMESH_VECTOR_BYTES == 64
inline constexpr int chain_rows = 14, grid_rows = 12;
#elif SIMMESH_VECTOR_BYTES == 32
inline constexpr int chain_rows = 6, grid_rows = 4;
#else
inline constexpr int chain_rows = 6, grid_rows = 4;
#endif
inline constexpr int tile_vectors = 2;

template <class T>
constexpr int lanes_of = vector_bytes / int(sizeof(T));

// Packed rows lie side by side, so that their offsets are constants.
template <class T, int rows, int vectors, int packed_rows>
void chain_tile(const ProductTile<T>& tile, T* c, std::int64_t c_row_stride, bool begin) {
  using Vector = typename VectorOf<T>::Type;
  constexpr int lanes = lanes_of<T>;
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      sums[r][v] = begin ? Vector{} : load(c + r * c_row_stride + v * lanes);
  const T* a = tile.a;
  const T* b = tile.b;
  const std::int64_t row_stride = packed_rows ? 1 : tile.a_row_stride;
  const std::int64_t depth_stride = packed_rows ? packed_rows : tile.a_depth_stride;
  for (std::int64_t k = 0; k < tile.depth; ++k) {
    Vector row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) row[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      Vector factor = splat(a[r * row_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = fused(factor, row[v], sums[r][v]);
    }
    a += depth_stride;
    b += tile.b_depth_stride;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(c + r * c_row_stride + v * lanes, sums[r][v]);
}

template <class T, int rows>
void chain_rows_of(const ProductTile<T>& tile, T* c, std::int64_t c_row_stride, bool begin) {
  if constexpr (rows > 0) {
    if (tile.rows != rows) return chain_rows_of<T, rows - 1>(tile, c, c_row_stride, begin);
    bool packed = tile.a_row_stride == 1 && tile.a_depth_stride == chain_rows;
    if (tile.vectors == 1)
      packed ? chain_tile<T, rows, 1, chain_rows>(tile, c, c_row_stride, begin)
             : chain_tile<T, rows, 1, 0>(tile, c, c_row_stride, begin);
    else
      packed ? chain_tile<T, rows, 2, chain_rows>(tile, c, c_row_stride, begin)
             : chain_tile<T, rows, 2, 0>(tile, c, c_row_stride, begin);
  }
}

template <class T>
void chain(const ProductTile<T>& tile, T* c, std::int64_t c_row_stride, bool begin) {
  chain_rows_of<T, chain_rows>(tile, c, c_row_stride, begin);
}

// Terms of the tile's products: how many limbs, and whether a product is a pair of doubles.
enum class GridKind { one, two, pair_two, pair_three };

template <GridKind kind>
constexpr int limbs_of = kind == GridKind::one          ? 1
                         : kind == GridKind::pair_three ? 3
                                                        : 2;
template <GridKind kind>
constexpr bool is_pair = kind == GridKind::pair_two || kind == GridKind::pair_three;

// deposit adds a term to the limbs from first on; what a limb's grid can't hold goes to the next.
template <int first, int limbs>
void deposit(Doubles term, const Doubles* constants, Ints* sums) {
#pragma GCC unroll 4
  for (int l = first; l < limbs; ++l) {
    Doubles held = term + constants[l];
    sums[l] += Ints(held);
    if (l + 1 < limbs) term -= held - constants[l];
  }
}

template <GridKind kind>
void add_term(Doubles a, Doubles b, const Doubles* constants, Ints* sums) {
  if constexpr (kind == GridKind::one) {
    sums[0] += Ints(exactly_fused(a, b, constants[0]));
  } else if constexpr (kind == GridKind::two) {
    Doubles held = exactly_fused(a, b, constants[0]);
    sums[0] += Ints(held);
    sums[1] += Ints(exactly_fused(a, b, constants[0] - held) + constants[1]);
  } else {
    Doubles product = a * b;
    deposit<0, limbs_of<kind>>(product, constants, sums);
    deposit<1, limbs_of<kind>>(fused(a, b, -product), constants, sums);
  }
}

// Adding a constant of 1.5 * 2^52 steps leaves the rounded term in the low bits of the double; the
// constants' own bits are subtracted at once, before the loop.
template <GridKind kind, int rows, int vectors>
void grid_tile(const ProductTile<double>& tile, const GridLimbs& out) {
  constexpr int lanes = lanes_of<double>, limbs = limbs_of<kind>;
  Ints sums[rows][vectors][limbs];
  Doubles constants[limbs];
#pragma GCC unroll 4
  for (int l = 0; l < limbs; ++l) {
    constants[l] = splat(out.constants[l]);
    std::uint64_t terms = std::uint64_t(is_pair<kind> && l > 0 ? 2 * tile.depth : tile.depth);
    Ints excess = Ints(constants[l]) * terms;
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        sums[r][v][l] =
            (out.begin ? Ints{}
                       : load(out.limbs + l * out.limb_stride + r * out.row_stride + v * lanes)) -
            excess;
  }
  const double* a = tile.a;
  const double* b = tile.b;
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < tile.depth; ++k) {
    Doubles row[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) row[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      Doubles factor = splat(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) add_term<kind>(factor, row[v], constants, sums[r][v]);
    }
    a += tile.a_depth_stride;
    b += tile.b_depth_stride;
  }
#pragma GCC unroll 4
  for (int l = 0; l < limbs; ++l)
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v)
        store(out.limbs + l * out.limb_stride + r * out.row_stride + v * lanes, sums[r][v][l]);
}

// More limbs take more registers: their tiles are cut into narrower ones.
template <GridKind kind, int rows, int vectors>
void grid_cut(const ProductTile<double>& tile, const GridLimbs& out) {
  constexpr int part = limbs_of<kind> == 1 ? rows : rows > grid_rows / 2 ? grid_rows / 2 : rows;
  constexpr int part_vectors = limbs_of<kind> == 1 ? vectors : 1;
  for (int v = 0; v < vectors; v += part_vectors) {
    ProductTile<double> piece = tile;
    GridLimbs piece_out = out;
    piece.b += v * lanes_of<double>;
    piece_out.limbs += v * lanes_of<double>;
    grid_tile<kind, part, part_vectors>(piece, piece_out);
    if constexpr (rows > part) {
      piece.a += part;
      piece_out.limbs += part * out.row_stride;
      grid_tile<kind, rows - part, part_vectors>(piece, piece_out);
    }
  }
}

template <GridKind kind, int rows>
void grid_rows_of(const ProductTile<double>& tile, const GridLimbs& out) {
  if constexpr (rows > 0) {
    if (tile.rows != rows) return grid_rows_of<kind, rows - 1>(tile, out);
    tile.vectors == 1 ? grid_cut<kind, rows, 1>(tile, out) : grid_cut<kind, rows, 2>(tile, out);
  }
}

template <GridKind kind>
void grid(const ProductTile<double>& tile, const GridLimbs& out) {
  grid_rows_of<kind, grid_rows>(tile, out);
}

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
