#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace simmesh {

// ProductOperand is a matrix whose element (r, c) is at data + (r * row_stride + c * column_stride)
// elements; a transposed matrix has its strides exchanged.
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
  // True if the product is added to the result's elements. Among floating products only the
  // canonical one can be.
  bool adds_to_result = false;
};

// check_product raises a TypeError for dtypes that don't go together in a product.
void check_product(const Product& product);

// MatrixSize is the number of rows and columns of an operand.
struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// transposed returns the operand with rows and columns exchanged.
constexpr ProductOperand transposed(const ProductOperand& operand) {
  return {operand.data, operand.dtype, operand.column_stride, operand.row_stride};
}

}  // namespace simmesh
