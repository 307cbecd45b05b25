#pragma once

// Like lanes.h: the inner loops of products for one instruction set.
namespace simmesh::SIMMESH_KERNELS {
namespace {

#if SIMMESH_VECTOR_BYTES == 64
inline constexpr int chain_rows = 14;
#else
inline constexpr int chain_rows = 6;
#endif
inline constexpr int tile_vectors = 2;

template <class T>
constexpr int lanes_of = vector_bytes / int(sizeof(T));

// Packed rows are neighbours, so that their offsets are constants.
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

}  // namespace
}  // namespace simmesh::SIMMESH_KERNELS
