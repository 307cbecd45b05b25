#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include <simmesh/core/arithmetic/carried_sum.h>
#include <simmesh/core/check/error.h>
#include <simmesh/core/tensor/formula.h>

namespace simmesh {
namespace {

constexpr DType carried_dtypes[] = {DType::float64, DType::float32, DType::bfloat16,
                                    DType::float16};

Tensor values_of(DimSpan shape, DType dtype, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::wide, .seed = seed, .dtype = dtype});
}
Tensor carried_matrix(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed) {
  Dims shape = {rows, columns};
  return values_of(shape, dtype, seed);
}

// Micro-batches, ranks and their order: one product's terms in any grouping give one result.
RC_GTEST_PROP(CarriedSumProperty, NoGroupingChangesABit, ()) {
  auto dtype =
      *rc::gen::elementOf(std::vector<DType>(std::begin(carried_dtypes), std::end(carried_dtypes)));
  auto depth = *rc::gen::inRange<std::int64_t>(1, 300);
  auto cut = *rc::gen::inRange<std::int64_t>(0, depth + 1);
  auto m = *rc::gen::inRange<std::int64_t>(1, 20);
  auto n = *rc::gen::inRange<std::int64_t>(1, 20);
  Tensor a = carried_matrix(depth, m, dtype, 1).transpose(0, 1),
         b = carried_matrix(depth, n, dtype, 2);
  CarriedSum whole({m, n}, dtype), forth({m, n}, dtype), back({m, n}, dtype);
  whole.add_product(a, b);
  auto part = [&](CarriedSum& sum, std::int64_t begin, std::int64_t end) {
    sum.add_product(a.narrow({.dim = 1, .start = begin, .length = end - begin}),
                    b.narrow({.dim = 0, .start = begin, .length = end - begin}));
  };
  part(forth, 0, cut);
  part(back, cut, depth);
  CarriedSum one_by_one({m, n}, dtype);
  for (std::int64_t k = depth; k-- > 0;) part(one_by_one, k, k + 1);
  RC_ASSERT(same_bits(whole.value(), one_by_one.value()));
  back.add(forth);
  RC_ASSERT(same_bits(whole.value(), back.value()));
  for (InstructionSet set : available_instruction_sets()) {
    CarriedSum other({m, n}, dtype);
    other.add_product(a, b, set);
    RC_ASSERT(same_bits(whole.limbs(), other.limbs()));
  }
}

// The sum over ranks of the limbs, taken back by each.
TEST(CarriedSum, LimbsAreAddedByACollective) {
  for (DType dtype : carried_dtypes) {
    Dims shape = {5, 3};
    CarriedSum all(shape, dtype);
    Tensor sum;
    CarriedSum last(shape, dtype);
    for (std::uint64_t rank = 0; rank < 8; ++rank) {
      Tensor values = values_of(shape, dtype, 10 + rank);
      all.add(values);
      CarriedSum own(shape, dtype);
      own.add(values);
      if (rank == 0)
        sum = own.limbs().clone();
      else
        for (std::size_t i = 0; i < sum.mutable_values<std::int64_t>().size(); ++i)
          sum.mutable_values<std::int64_t>()[i] += own.limbs().values<std::int64_t>()[i];
      last = own;
    }
    last.replace_limbs(sum, 8);
    EXPECT_TRUE(same_bits(last.value(), all.value())) << to_string(dtype);
    EXPECT_TRUE(same_bits(last.divided_value(7), all.divided_value(7))) << to_string(dtype);
  }
}

TEST(CarriedSum, SumsToItsShape) {
  Tensor values = tensor_of<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CarriedSum row({3}, DType::float32), column({2, 1}, DType::float32),
      scalar(Dims{}, DType::float32);
  row.add_sum(values);
  column.add_sum(values);
  scalar.add_sum(values);
  EXPECT_TRUE(same_bits(row.value(), tensor_of<float>({3}, {22, 26, 30})));
  EXPECT_TRUE(same_bits(column.value(), tensor_of<float>({2, 1}, {30, 48})));
  EXPECT_EQ(scalar.value().values<float>()[0], 78);
}

TEST(CarriedSum, AddsRowsByIndex) {
  CarriedSum sum({3, 2}, DType::float32);
  sum.add_rows(tensor_of<std::int64_t>({3}, {2, 0, 2}),
               tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(same_bits(sum.value(), tensor_of<float>({3, 2}, {3, 4, 0, 0, 6, 8})));
  EXPECT_THROW(sum.add_rows(tensor_of<std::int64_t>({1}, {3}), tensor_of<float>({1, 2}, {1, 2})),
               Error);
}

// float16 and bfloat16 come straight from the integer: through float32 the tie would be lost.
TEST(CarriedSum, RoundsOnce) {
  CarriedSum half({1}, DType::float16);
  half.add(tensor_of<double>({1}, {1 + 0x1p-11}));
  half.add(tensor_of<double>({1}, {0x1p-40}));
  EXPECT_EQ(float(half.value().values<Half>()[0]), 1 + 0x1p-10f);
  CarriedSum third({1}, DType::float64);
  third.add(tensor_of<double>({1}, {1}));
  EXPECT_EQ(third.divided_value(3).values<double>()[0], 1.0 / 3);
  third.add(tensor_of<double>({1}, {1}));
  EXPECT_EQ(third.divided_value(3).values<double>()[0], 2.0 / 3);
  EXPECT_EQ(third.divided_value(7).values<double>()[0], 2.0 / 7);
}

TEST(CarriedSum, KeepsCancellation) {
  CarriedSum sum({1}, DType::float32);
  for (float x : {0x1p30f, 0x1p-30f, -0x1p30f}) sum.add(tensor_of<float>({1}, {x}));
  EXPECT_EQ(sum.value().values<float>()[0], 0x1p-30f);
  sum.add(tensor_of<float>({1}, {-0x1p-30f}));
  EXPECT_FALSE(std::signbit(sum.value().values<float>()[0]));
}

TEST(CarriedSum, OverflowIsAnError) {
  CarriedSum sum({1}, DType::float32);
  EXPECT_THROW(sum.add(tensor_of<float>({1}, {0x1p36f})), Error);
  Tensor large = tensor_of<float>({1}, {0x1p34f});
  for (int i = 0; i < 4095; ++i) sum.add(large);
  EXPECT_EQ(sum.value().values<float>()[0], 4095 * 0x1p34f);
  EXPECT_THROW(for (int i = 0; i < 2; ++i) sum.add(large), Error);
  CarriedSum ranks({1}, DType::float32);
  ranks.add(large);
  EXPECT_THROW(ranks.replace_limbs(ranks.limbs(), 4096), Error);
}

TEST(CarriedSum, NonFiniteTermsDecideTheirElements) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CarriedSum sum({4}, DType::float32);
  sum.add(tensor_of<float>({4}, {infinity, infinity, std::nanf(""), 1}));
  sum.add(tensor_of<float>({4}, {1, -infinity, 1, 1}));
  auto value = sum.value();
  EXPECT_EQ(value.values<float>()[0], infinity);
  EXPECT_TRUE(std::isnan(value.values<float>()[1]));
  EXPECT_TRUE(std::isnan(value.values<float>()[2]));
  EXPECT_EQ(value.values<float>()[3], 2);
  CarriedSum product({1, 2}, DType::float32);
  product.add_product(tensor_of<float>({1, 2}, {infinity, 2}),
                      tensor_of<float>({2, 2}, {1, 0, 1, 1}));
  EXPECT_EQ(product.value().values<float>()[0], infinity);
  EXPECT_TRUE(std::isnan(product.value().values<float>()[1]));
}

}  // namespace
}  // namespace simmesh
