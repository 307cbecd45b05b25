#pragma once

#include <cstddef>
#include <cstdint>

#include <simmesh/core/arithmetic/instruction_set.h>

namespace simmesh {

// ProductTile is the inner loop of a product: rows x (vectors * lanes) elements of the result over
// a stretch of the depth. Element (r, k) of a lies at a + r * a_row_stride + k * a_depth_stride;
// row k of b starts at b + k * b_depth_stride and is as wide as the tile.
template <class T>
struct ProductTile {
  std::int64_t depth = 0;
  const T* a = nullptr;
  std::int64_t a_row_stride = 0;
  std::int64_t a_depth_stride = 0;
  const T* b = nullptr;
  std::int64_t b_depth_stride = 0;
  int rows = 0;
  int vectors = 0;
};

// ChainTile continues the chains of a tile in c, or begins them at +0.
template <class T>
using ChainTile = void (*)(const ProductTile<T>& tile, T* c, std::int64_t c_row_stride, bool begin);

// GridLimbs are the integers of a tile: element (r, j) of limb l lies at limbs + l * limb_stride +
// r * row_stride + j. constants[l] is 1.5 * 2^52 times the step of limb l.
struct GridLimbs {
  std::int64_t* limbs = nullptr;
  std::int64_t limb_stride = 0;
  std::int64_t row_stride = 0;
  double constants[3] = {0, 0, 0};
  bool begin = false;  // from 0: what the limbs were isn't read
};

// GridTile adds the terms of a tile to its limbs, each rounded onto the grid.
using GridTile = void (*)(const ProductTile<double>& tile, const GridLimbs& limbs);

// TileSize bounds the rows and vectors of a tile; rows is also the row stride of packed operands.
struct TileSize {
  int rows;
  int vectors;
  int lanes;
};

// FloatPanels is an operand of a product to be cut into panels of width lines (see packing.h):
// element k of line l lies at data + l * line_stride + k * depth_stride. The line's scale
// multiplies what is packed as doubles.
struct FloatPanels {
  const float* data = nullptr;
  std::int64_t line_stride = 0;
  std::int64_t depth_stride = 0;
  std::int64_t line_count = 0;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  const double* scales = nullptr;
};

// FinishedSums are the sums of a block of a product and where they go: sum (i, j) is limbs[i *
// row_stride + j / width * panel_stride + j % width] * row_scales[i] * column_scales[j], whose
// scales are powers of two.
struct FinishedSums {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const std::int64_t* limbs = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t width = 0;
  std::int64_t panel_stride = 0;
  const double* row_scales = nullptr;
  const double* column_scales = nullptr;
  float* out = nullptr;
  std::int64_t out_row_stride = 0;
};

// LineTerms is count terms of each of width neighbouring sums, term i of sum j at data[i * stride +
// j]; transposed, at data[j * stride + i].
template <class T>
struct LineTerms {
  const T* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;
  const double* means = nullptr;
  int term = 0;  // of SumTerm
  bool transposed = false;
};

// CombineKernel is a Combine (see combine.h).
using CombineKernel = void (*)(std::byte* out, const std::byte* a, const std::byte* b,
                               std::int64_t count);

// FoldedRows are count rows of elements, which begin `at` bytes into each.
struct FoldedRows {
  const std::byte* const* data = nullptr;
  std::int64_t count = 0;
  std::size_t at = 0;
};

// FoldKernel is a Fold (see combine.h).
using FoldKernel = void (*)(std::byte* out, const FoldedRows& rows, std::int64_t count);

// CopyLoop is one dim of a copy, strides in bytes.
struct CopyLoop {
  std::int64_t size;
  std::int64_t target;
  std::int64_t source;
};

// CopyPlane is two loops around blocks that are contiguous on both sides.
struct CopyPlane {
  CopyLoop rows{0, 0, 0};
  CopyLoop columns{0, 0, 0};
  std::int64_t bytes = 0;  // of a block
};

// CopyKernel copies the blocks of a plane, of which the first are given.
using CopyKernel = void (*)(const CopyPlane& plane, std::byte* target, const std::byte* source);

// Kernels is what is compiled once per instruction set, plain functions over plain memory. Nothing
// in it may instantiate an inline function that other sources share: the linker keeps one copy of
// such a function, which could be the one with instructions that the processor lacks.
struct Kernels {
  TileSize float_tile;
  TileSize double_tile;
  TileSize grid_tile;
  ChainTile<float> chain_float;
  ChainTile<double> chain_double;
  GridTile grid_one;       // one limb; products of the operands are exact in double
  GridTile grid_two;       // two limbs; likewise
  GridTile grid_pair_two;  // two limbs, float64 operands
  GridTile grid_pair_three;

  // pack_* copy panels; as doubles scaled, and 0 where they aren't finite.
  void (*pack_float)(const FloatPanels& panels, float* out);
  void (*pack_double)(const FloatPanels& panels, double* out);

  // magnitudes_float writes the largest magnitude of each line, as the bits of a float; those of a
  // NaN exceed those of an infinity. The panels' width and scales don't matter.
  void (*magnitudes_float)(const FloatPanels& lines, std::int32_t* largest);

  // finish_float rounds sums to float, each once.
  void (*finish_float)(const FinishedSums& sums);

  // chain_lines_* continue totals[j] over the terms of sum j.
  void (*chain_lines_float)(const LineTerms<float>& terms, float* totals);
  void (*chain_lines_double)(const LineTerms<double>& terms, double* totals);

  // functions_* compute result[i] = function(x[i]) for a Function's number.
  void (*functions_float)(int function, const float* x, float* result, std::int64_t count);
  void (*functions_double)(int function, const double* x, double* result, std::int64_t count);

  // power_magnitude returns x^y for finite x > 0 and finite y.
  double (*power_magnitude)(double x, double y);

  // combine_of and fold_of return the kernels of a ReduceOp's and a DType's number, nullptr where
  // the operation is bitwise and the dtype floating.
  CombineKernel (*combine_of)(int op, int dtype);
  FoldKernel (*fold_of)(int op, int dtype);

  // scale computes out[i] = values[i] * *factor, and divide values[i] /= divisor.
  void (*scale)(int dtype, std::byte* out, const std::byte* values, const std::byte* factor,
                std::int64_t count);
  void (*divide)(int dtype, std::byte* values, double divisor, std::int64_t count);

  // convert writes elements of one DType's number as those of another.
  void (*convert)(int from, int to, const std::byte* in, std::byte* out, std::int64_t count);

  CopyKernel copy_plane;
};

// portable_kernels, avx2_kernels and avx512_kernels return the variants, nullptr where the
// architecture has no such instructions.
const Kernels* portable_kernels();
const Kernels* avx2_kernels();
const Kernels* avx512_kernels();

// kernels_of returns the kernels of an available instruction set.
const Kernels& kernels_of(InstructionSet set);

}  // namespace simmesh
