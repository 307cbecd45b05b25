#include "core/ops/functions/einsum.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor einsum_operand(const Shape& shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::small, .seed = seed, .dtype = DType::int64});
}

TEST(Einsum, TransposesSumsAndTakesDiagonals) {
  Tensor x = tensor_of<std::int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(einsum("ij->ji", {x})), "int64[2, 2] {1, 3, 2, 4}");
  EXPECT_EQ(to_string(einsum("ij->j", {x})), "int64[2] {4, 6}");
  EXPECT_EQ(to_string(einsum("ii->i", {x})), "int64[2] {1, 4}");
  EXPECT_EQ(to_string(einsum("ii", {x})), "int64[] {5}");
  EXPECT_EQ(to_string(einsum("ba", {x})), "int64[2, 2] {1, 3, 2, 4}");
}

TEST(Einsum, ProductsEqualTheirNamedOps) {
  Tensor a = einsum_operand({2, 3, 4}, 1), b = einsum_operand({2, 4, 5}, 2);
  EXPECT_TRUE(same_bits(einsum("bij,bjk->bik", {a, b}), bmm(a, b)));
  EXPECT_TRUE(same_bits(einsum("bij,bjk->ikb", {a, b}).contiguous(),
                        permute(bmm(a, b), {1, 2, 0}).contiguous()));
  EXPECT_TRUE(same_bits(einsum("...ij,...jk->...ik", {a, b}), matmul(a, b)));
  EXPECT_TRUE(same_bits(einsum("...ij,jk", {a, einsum_operand({4, 2}, 3)}),
                        matmul(a, einsum_operand({4, 2}, 3))));
  EXPECT_TRUE(same_bits(einsum("i,j->ij", {einsum_operand({3}, 1), einsum_operand({2}, 2)}),
                        outer(einsum_operand({3}, 1), einsum_operand({2}, 2))));
  EXPECT_TRUE(same_bits(einsum("i,i->", {einsum_operand({3}, 1), einsum_operand({3}, 2)}),
                        dot(einsum_operand({3}, 1), einsum_operand({3}, 2))));
}

TEST(Einsum, LettersOfOneOperandAreSummedFirst) {
  Tensor a = tensor_of<std::int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(to_string(einsum("ij,k->ik", {a, tensor_of<std::int64_t>({2}, {1, 10})})),
            "int64[2, 2] {3, 30, 7, 70}");
}

TEST(Einsum, WrongEquationsAreRefused) {
  Tensor a = einsum_operand({2, 3}, 1);
  EXPECT_THROW(einsum("ijk->i", {a}), Error);
  EXPECT_THROW(einsum("ij,jk", {a}), Error);
  EXPECT_THROW(einsum("ij->k", {a}), Error);
  EXPECT_THROW(einsum("ij->ii", {a}), Error);
  EXPECT_THROW(einsum("i.->i", {a}), Error);
  EXPECT_THROW(einsum("ij,jk->ik", {a, a}), Error);
  EXPECT_THROW(einsum("ii->i", {a}), Error);
}

}  // namespace
}  // namespace simmesh
