#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <vector>

#include <simmesh/core/arithmetic/instruction_set.h>
#include <simmesh/core/tensor/dtype.h>
#include <simmesh/core/tensor/tensor.h>

namespace simmesh {

// ProductOperand is a matrix whose element (r, c) lies at data + (r * row_stride + c *
// column_stride) elements; a transposed matrix has its strides exchanged.
struct ProductOperand {
  const std::byte* data = nullptr;
  DType dtype = DType::float32;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};

// Product is result = a b with a of [rows, depth] and b of [depth, columns]. Row r of the result
// starts at r * result_row_stride elements; its columns are contiguous.
//
// Operands are both floating (float64 computes in float64, everything else in float32; result of
// any floating dtype, rounded once) or both of one integer dtype, as is the result.
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  ProductOperand a;
  ProductOperand b;
  std::byte* result = nullptr;
  DType result_dtype = DType::float32;
  std::int64_t result_row_stride = 0;

  // Of exact products whose depth is split: the operand_exponents of the whole logical operands
  // (rows and columns entries) and the whole depth. Empty and 0 where nothing is split.
  gsl::span<const std::int32_t> row_exponents = {};
  gsl::span<const std::int32_t> column_exponents = {};
  std::int64_t depth_total = 0;
};

// canonical_product computes each element as one chain acc = fma(a[i][k], b[k][j], acc), k
// ascending, from +0, in float32 (float64 for float64 operands), and rounds it once to the result's
// dtype. Row and column splits don't change a bit. Integers wrap. Throws a TypeError for dtypes
// that don't go together, and for bool.
void canonical_product(const Product& product, InstructionSet set = best_instruction_set());

// exact_product rounds each term a[i][k] * b[k][j] once, onto a grid that the largest exponents of
// row i and column j and the depth fix, adds the terms as integers and rounds the sum once. No
// split of rows, columns or depth changes a bit (see exact_accumulate for the depth). The error of
// a term is at most 2^-52 of the product of the two maxima (2^-103 for float64), more by a bit for
// each doubling of the depth above 4095. Non-finite operands: an element whose terms have a NaN, or
// both infinities, is NaN; else the infinity. A sum of zero is +0. Integers as in
// canonical_product.
void exact_product(const Product& product, InstructionSet set = best_instruction_set());

// exponent_of_zeros is the exponent of a row without a finite element other than zero.
inline constexpr std::int32_t exponent_of_zeros = -(1 << 20);

// MatrixSize is the number of rows and columns of an operand.
struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// row_exponents returns for each row of a floating operand the least e with |x| < 2^e for all its
// finite elements. Exponents of parts are combined by maximum. Those of columns are the
// row_exponents of transposed(operand).
std::vector<std::int32_t> row_exponents(const ProductOperand& operand, const MatrixSize& size);

// transposed returns the operand with rows and columns exchanged.
constexpr ProductOperand transposed(const ProductOperand& operand) {
  return {operand.data, operand.dtype, operand.column_stride, operand.row_stride};
}

// operand_exponents is row_exponents of a 2-dimensional tensor along dim 0, or along dim 1: its
// columns.
std::vector<std::int32_t> operand_exponents(const Tensor& matrix, std::int64_t dim);

// ExactAccumulators carries an exact product before its rounding: those of depth shards, made with
// the same exponents and depth_total, are added as integers in any order.
struct ExactAccumulators {
  Tensor limbs;       // int64 [1, rows, columns]; [2, rows, columns] for float64 operands
  Tensor non_finite;  // int64 [rows, columns] counts of NonFiniteTerms; undefined where all finite
};

// exact_accumulate returns the accumulators of a floating product or of one depth shard of it;
// product.result is not used.
ExactAccumulators exact_accumulate(const Product& product,
                                   InstructionSet set = best_instruction_set());

// exact_finish rounds accumulators into product.result. It takes the sizes, dtypes, exponents and
// depth_total of the product; the operands' data is only read where no exponents are given.
void exact_finish(const Product& product, const ExactAccumulators& accumulators);

}  // namespace simmesh
