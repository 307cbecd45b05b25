#pragma once

#include <cstddef>
#include <cstdint>

namespace simmesh {

// ProductTile is the inner loop of a product: rows x (vectors * lanes) elements of the result over
// a stretch of the depth. Element (r, k) of a is at a + r * a_row_stride + k * a_depth_stride; row
// k of b starts at b + k * b_depth_stride and is as wide as the tile.
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

// TileSize bounds the rows and vectors of a tile; rows is also the row stride of packed operands.
struct TileSize {
  int rows;
  int vectors;
  int lanes;
};

// FloatPanels is an operand of a product to be cut into panels of width lines (see packing.h):
// element k of line l is at data + l * line_stride + k * depth_stride. The line's scale multiplies
// what is packed as doubles.
struct FloatPanels {
  const float* data = nullptr;
  std::int64_t line_stride = 0;
  std::int64_t depth_stride = 0;
  std::int64_t line_count = 0;
  std::int64_t depth = 0;
  std::int64_t width = 0;
  const double* scales = nullptr;
  double offset = 0;  // is added to what is packed as doubles
};

// WideTile is the inner loop of a product of floats in double: element (r, k) of a is at a + k *
// (the rows of a full tile) + r; row k of b starts at b + k * b_depth_stride.
struct WideTile {
  std::int64_t depth = 0;
  const double* a = nullptr;
  const float* b = nullptr;
  std::int64_t b_depth_stride = 0;
  int rows = 0;
  int vectors = 0;
  double* squares = nullptr;  // where given, those of the columns of a full tile are added to it
};

// WideSums are the sums of a block of a product in double and where they go: sum (i, j) is sums[j /
// width * panel_stride + i * width + j % width] for the width of a tile, give or take row_bounds[i]
// * column_bounds[j]; there are sums and column_bounds for whole panels.
struct WideSums {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const double* sums = nullptr;
  std::int64_t panel_stride = 0;
  const double* row_bounds = nullptr;
  const double* column_bounds = nullptr;
  float* out = nullptr;
  std::int64_t out_row_stride = 0;
  std::int32_t* unsettled = nullptr;  // room for rows * columns
};

// SliceOff takes the multiples of 2^(constant's exponent - 52) off doubles: what is written is
// scaled and has the offset added.
struct SliceOff {
  double constant = 0;
  double scale = 1;
  double offset = 0;
  double offset_of_rest = 0;  // is added to what stays
};

// SlicedTile is a tile of a product of slices: integers of up to 52 bits as the low bits of
// doubles, of a at a[k * 8 + r], of b at b[k * 16 + column], and where its sums go: those of row r
// times 2^shifts[r], shifts[r] >= 0. row_sums and column_sums are those of the factors' integers.
struct SlicedTile {
  std::int64_t depth = 0;
  int rows = 0;
  const double* a = nullptr;
  const double* b = nullptr;
  const std::int64_t* row_sums = nullptr;
  const std::int64_t* column_sums = nullptr;
  const int* shifts = nullptr;
  std::int64_t digit_stride = 0;
};

// FinishedDigits are the digits of a tile, digit d of sum (r, j) at digits[d * digit_stride + r *
// (the tile's width) + j], which end as zeros, and where they go: the first digit_count of them,
// the others are zeros after the carries. The vectors of each digit are OR'ed into seen.
struct FinishedDigits {
  int rows = 0;
  std::int64_t columns = 0;
  int digit_count = 0;
  int all_digits = 0;
  std::int64_t* digits = nullptr;
  std::int64_t digit_stride = 0;
  std::int32_t* out = nullptr;
  std::int64_t out_row_stride = 0;
  std::int64_t out_digit_stride = 0;
  std::int64_t* seen = nullptr;
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

// TripleLines are TripleSums that terms are added to: high, low and missed of each.
struct TripleLines {
  double* high = nullptr;
  double* low = nullptr;
  double* missed = nullptr;
};

// PairOperand is pairs of doubles (see ExactPair): high[i * step] + low[i * step], where low is
// null if all of it is 0. A step of 0 repeats the first pair.
struct PairOperand {
  const double* high = nullptr;
  const double* low = nullptr;
  std::int64_t step = 1;
};
inline constexpr std::int64_t pair_block_size = 256;

// PairBlock is where at most pair_block_size results go. One that is no pair is written as 0, and
// its place is listed. has_lows becomes true where the low part of any isn't 0.
struct PairBlock {
  double* high = nullptr;
  double* low = nullptr;
  std::int64_t count = 0;
  std::int32_t* inexact = nullptr;  // room for count
  bool* has_lows = nullptr;
};

// DigitPlanes are digits of sums: sum i is the sum of digits[d * stride + i] * weights[d], where
// the weights are powers of 2^32 from the lowest one on.
struct DigitPlanes {
  const std::int32_t* digits = nullptr;
  std::int64_t stride = 0;
  int count = 0;
  const double* weights = nullptr;
};

// OddBlock is where at most pair_block_size doubles go that only need to be narrowed to a dtype of
// 24 bits and less; the places of those for which that isn't known are listed.
struct OddBlock {
  double* odd = nullptr;
  std::int64_t count = 0;
  std::int32_t* unsettled = nullptr;  // room for count
};

// ExactFold is out[i] = (rows[0][i] + rows[1][i] + ...) / divisor, of each row times the factor
// where scaled, exactly summed and rounded once; to_odd of floats: narrowed to float such that a
// further rounding to a 16-bit dtype is the only one. count is at least fold_count_min; out
// overlaps no row.
template <class T>
struct ExactFold {
  const T* const* rows = nullptr;
  std::int64_t row_count = 0;
  std::int64_t count = 0;
  double factor = 1;
  double divisor = 1;
  bool scaled = false;
  bool to_odd = false;
  T* out = nullptr;
  std::int32_t* unsettled = nullptr;  // room for count
};
inline constexpr std::int64_t fold_count_min = 16;
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
  ChainTile<float> chain_float;
  ChainTile<double> chain_double;

  // pack_* copy panels; as doubles scaled, and 0 where they aren't finite.
  void (*pack_float)(const FloatPanels& panels, float* out);
  void (*pack_double)(const FloatPanels& panels, double* out);

  // wide_chain adds the chains of a tile, each begun at +0, to c, whose rows are as wide as a full
  // tile, or writes them there; the squares are off by at most (depth + 1) * 2^-24 of them.
  // widen_panel copies a panel of as many rows as a tile has and adds up their squares.
  TileSize wide_tile;
  void (*wide_chain)(const WideTile& tile, double* c, bool begin);
  void (*widen_panel)(const float* panel, std::int64_t depth, double* out, double* squares);

  // round_wide rounds sums to float. It lists those, as i * columns + j, whose bounds allow more
  // than one result and those that aren't finite, and returns their number.
  std::int64_t (*round_wide)(const WideSums& sums);

  // triple_sums_* add the terms of sum j to TripleSum j.
  void (*triple_sums_float)(const LineTerms<float>& terms, const TripleLines& sums);
  void (*triple_sums_double)(const LineTerms<double>& terms, const TripleLines& sums);

  // magnitude_ranges writes the largest and the smallest magnitude of each line, the latter less
  // one, as the bits of floats: of zeros alone 0 and the largest integer.
  void (*magnitude_ranges)(const FloatPanels& lines, std::uint32_t* largest,
                           std::uint32_t* smallest_less_one);
  void (*slice_off)(double* rest, std::int64_t count, const SliceOff& slice, double* out);
  // line_sums adds up the integers of each of width lines, a multiple of a vector's lanes.
  void (*line_sums)(const double* slice, std::int64_t depth, std::int64_t width,
                    std::int64_t* sums);
  // sliced_tile writes the sums of a tile of at most 7 rows and 2047 terms as high * 2^52 + low;
  // null where no instruction multiplies integers of 52 bits, which the processor is asked for.
  // chain_integers writes sums of a wide_chain that are integers in the same way, place_tile adds
  // what was so written to digits, and finish_digits carries and copies them.
  void (*sliced_tile)(const SlicedTile& tile, std::int64_t* low, std::int64_t* high);
  void (*chain_integers)(const double* sums, std::int64_t rows, std::int64_t* low,
                         std::int64_t* high);
  void (*place_tile)(const SlicedTile& tile, const std::int64_t* low, const std::int64_t* high,
                     std::int64_t* digits);
  void (*finish_digits)(const FinishedDigits& digits);

  // add_pairs and multiply_pairs compute results place by place, pairs_of_digits the pairs of
  // carried digits, and odd_quotients the quotients of pairs and a divisor below 2^50, or of
  // doubles and any divisor. All return the number of places that they list.
  int (*add_pairs)(const PairOperand& a, const PairOperand& b, const PairBlock& out);
  int (*multiply_pairs)(const PairOperand& a, const PairOperand& b, const PairBlock& out);
  int (*pairs_of_digits)(const DigitPlanes& planes, const PairBlock& out);
  int (*odd_quotients)(const PairOperand& pairs, double divisor, const OddBlock& out);

  // exact_fold_* list the elements that they didn't settle and return their number.
  std::int64_t (*exact_fold_float)(const ExactFold<float>& fold);
  std::int64_t (*exact_fold_double)(const ExactFold<double>& fold);

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

}  // namespace simmesh
