#include "core/ops/matrices/products.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/kernels/matrix.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor product_operand(const Shape& shape, std::uint64_t seed, DType dtype = DType::float32) {
  return formula(shape, {.rule = Rule::small, .seed = seed, .dtype = dtype});
}

// The product by its definition. Small integers add up without rounding in any order.
Tensor by_hand(const Tensor& a, const Tensor& b) {
  Tensor x = to(a, DType::float64).contiguous(), y = to(b, DType::float64).contiguous();
  Tensor out = zeros({a.size(0), b.size(1)}, DType::float64);
  for (std::int64_t i = 0; i < a.size(0); ++i)
    for (std::int64_t j = 0; j < b.size(1); ++j)
      for (std::int64_t k = 0; k < a.size(1); ++k)
        out.mutable_values<double>()[std::size_t(i * b.size(1) + j)] +=
            x.values<double>()[std::size_t(i * a.size(1) + k)] *
            y.values<double>()[std::size_t(k * b.size(1) + j)];
  return to(out, a.dtype());
}

TEST(Products, MmOfEveryDtypeAndStride) {
  for (DType dtype : {DType::float64, DType::float32, DType::bfloat16, DType::float16, DType::int64,
                      DType::int32})
    for (const Arithmetic& arithmetic : {Arithmetic::canonical(), Arithmetic::exact()}) {
      ArithmeticScope scope(arithmetic);
      Tensor a = product_operand({4, 5}, 1, dtype), b = product_operand({5, 3}, 2, dtype);
      Tensor expected = by_hand(a, b);
      EXPECT_TRUE(same_bits(mm(a, b), expected)) << to_string(dtype);
      EXPECT_TRUE(same_bits(mm(t(t(a).contiguous()), t(t(b).contiguous())), expected))
          << to_string(dtype);
    }
}

TEST(Products, EmptyDepthGivesZeros) {
  EXPECT_EQ(to_string(mm(empty({2, 0}, DType::float32), empty({0, 1}, DType::float32))),
            "float32[2, 1] {0, 0}");
  EXPECT_EQ(mm(empty({0, 2}, DType::float32), empty({2, 3}, DType::float32)).shape(),
            (Shape{0, 3}));
}

TEST(Products, WrongShapesAndDtypesAreRefused) {
  auto refused = [](const Tensor& a, const Tensor& b) { EXPECT_THROW(mm(a, b), Error); };
  refused(product_operand({2, 3}, 1), product_operand({2, 3}, 1));
  refused(product_operand({2}, 1), product_operand({2, 3}, 1));
  refused(product_operand({2, 3}, 1), product_operand({3, 2}, 1, DType::float64));
  refused(ones(Shape{2, 2}, DType::boolean), ones(Shape{2, 2}, DType::boolean));
  EXPECT_THROW(matmul(product_operand({}, 1), product_operand({2}, 1)), Error);
  EXPECT_THROW(bmm(product_operand({2, 2, 3}, 1), product_operand({3, 3, 2}, 1)), Error);
  EXPECT_THROW(
      linear(product_operand({2, 3}, 1), product_operand({2, 3}, 1), product_operand({3}, 1)),
      Error);
}

// matmul of all numbers of dims is mm of each pair of matrices.
TEST(Products, MatmulBroadcastsLeadingDims) {
  Tensor a = product_operand({2, 1, 3, 4}, 1), b = product_operand({5, 4, 2}, 2);
  Tensor product = matmul(a, b);
  ASSERT_EQ(product.shape(), (Shape{2, 5, 3, 2}));
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 5; ++j)
      EXPECT_TRUE(same_bits(select(select(product, 0, i), 0, j).contiguous(),
                            by_hand(select(select(a, 0, i), 0, 0), select(b, 0, j))));
  EXPECT_EQ(matmul(product_operand({4}, 1), b).shape(), (Shape{5, 2}));
  EXPECT_EQ(matmul(a, product_operand({4}, 1)).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(matmul(a, product_operand({4, 6}, 1)).shape(), (Shape{2, 1, 3, 6}));
  EXPECT_EQ(matmul(product_operand({6, 4}, 1), b).shape(), (Shape{5, 6, 2}));
  EXPECT_EQ(matmul(product_operand({4}, 1), product_operand({4, 6}, 1)).shape(), (Shape{6}));
}

TEST(Products, VectorsAndScalars) {
  Tensor v = tensor_of<float>({3}, {1, 2, 3}), w = tensor_of<float>({3}, {4, 5, 6});
  EXPECT_EQ(to_string(dot(v, w)), "float32[] {32}");
  EXPECT_EQ(to_string(mv(tensor_of<float>({2, 3}, {1, 0, 0, 0, 1, 1}), v)), "float32[2] {1, 5}");
  EXPECT_EQ(to_string(outer(v, tensor_of<float>({2}, {1, 10}))),
            "float32[3, 2] {1, 10, 2, 20, 3, 30}");
}

TEST(Products, AddmmScalesBothParts) {
  Tensor a = tensor_of<float>({1, 2}, {1, 2}), b = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  Tensor row = tensor_of<float>({2}, {1, 100});
  EXPECT_EQ(to_string(addmm(row, a, b, {.beta = 2, .alpha = 10})), "float32[1, 2] {72, 300}");
  Tensor nan = full(Shape{1}, DType::float32, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(to_string(addmm(nan, a, b, {.beta = 0})), "float32[1, 2] {7, 10}");
  Tensor batch = baddbmm(row, unsqueeze(a, 0), unsqueeze(b, 0), {.alpha = 0.5});
  EXPECT_EQ(to_string(batch), "float32[1, 1, 2] {4.5, 105}");
  EXPECT_EQ(to_string(addmm(to(row, DType::int64), to(a, DType::int64), to(b, DType::int64))),
            "int64[1, 2] {8, 110}");
}

// Third parts that are added to one by one lose other bits than those to which the whole product is
// added: 1/3 + 2^24 - 2^24.
TEST(Products, AddmmStartsFromTheAddendUnlessTheRightFactorIsTransposed) {
  Tensor third = tensor_of<float>({1}, {1.0f / 3});
  Tensor a = tensor_of<float>({1, 2}, {0x1p24f, -0x1p24f});
  Tensor ones = full({2, 3}, DType::float32, 1), turned = t(full({3, 2}, DType::float32, 1));
  EXPECT_TRUE(same_bits(addmm(third, a, ones), zeros({1, 3}, DType::float32)));
  EXPECT_TRUE(same_bits(addmm(third, a, turned), expand(third, {1, 3}).contiguous()));
  EXPECT_TRUE(
      same_bits(addmm(third, a, ones, {.beta = 3, .alpha = 0.5}), full({1, 3}, DType::float32, 1)));
  EXPECT_TRUE(same_bits(addmm(third, narrow(a, {.dim = 1, .start = 0, .length = 0}),
                              narrow(ones, {.dim = 0, .start = 0, .length = 0})),
                        expand(third, {1, 3}).contiguous()));
}

// 256 + 1 isn't a bfloat16, and 257 + 1 is: a product that is rounded before the bias is added
// loses the unit.
TEST(Products, LinearRoundsOnceAfterTheBias) {
  Tensor x = to(tensor_of<float>({1, 2}, {256, 1}), DType::bfloat16);
  Tensor weight = to(tensor_of<float>({1, 2}, {1, 1}), DType::bfloat16);
  Tensor bias = to(tensor_of<float>({1}, {1}), DType::bfloat16);
  EXPECT_EQ(to_string(linear(x, weight, bias)), "bfloat16[1, 1] {258}");
  EXPECT_EQ(to_string(linear(x, weight)), "bfloat16[1, 1] {256}");
}

TEST(Products, LinearTakesAnyLeadingDims) {
  Tensor x = product_operand({2, 3, 4}, 1), weight = product_operand({5, 4}, 2),
         bias = product_operand({5}, 3);
  Tensor y = linear(x, weight, bias);
  ASSERT_EQ(y.shape(), (Shape{2, 3, 5}));
  EXPECT_TRUE(same_bits(reshape(y, {6, 5}), addmm(bias, reshape(x, {6, 4}), t(weight))));
  EXPECT_TRUE(same_bits(linear(select(select(x, 0, 1), 0, 2), weight, bias),
                        select(select(y, 0, 1), 0, 2).contiguous()));
}

// Every split of the rows of a linear layer gives the bits of the whole.
TEST(Products, RowSplitsOfLinearDontChangeABit) {
  Tensor x = formula(Shape{7, 9}, {.rule = Rule::unit, .seed = 1});
  Tensor weight = formula(Shape{5, 9}, {.rule = Rule::unit, .seed = 2});
  Tensor whole = linear(x, weight);
  for (std::int64_t row = 0; row < 7; ++row)
    EXPECT_TRUE(same_bits(linear(narrow(x, {.dim = 0, .start = row, .length = 1}), weight),
                          narrow(whole, {.dim = 0, .start = row, .length = 1}).contiguous()));
}

TEST(Products, AddmvScalesVectorAndProduct) {
  Tensor matrix = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor vector = tensor_of<float>({3}, {1, 0, -1}), addend = tensor_of<float>({2}, {10, 20});
  EXPECT_EQ(to_string(addmv(addend, matrix, vector, {.beta = 2, .alpha = 3})),
            "float32[2] {14, 34}");
  EXPECT_EQ(to_string(addmv(full({}, DType::float32, 1), matrix, vector)), "float32[2] {-1, -1}");
  EXPECT_THROW(addmv(addend, matrix, matrix), Error);
}

}  // namespace
}  // namespace simmesh
