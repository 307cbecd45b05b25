#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "core/arithmetic/compute.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/check/error.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

Tensor values_of(DimSpan shape, DType dtype) {
  return formula(shape, {.rule = Rule::wide, .seed = 8, .dtype = dtype});
}

SumRequest request_of(const Tensor& data, Tensor& result) {
  return {.data = data.data(),
          .dtype = data.dtype(),
          .outer = data.size(0),
          .count = data.size(1),
          .inner = data.size(2),
          .result = result.mutable_data(),
          .result_dtype = result.dtype()};
}

// One chain per sum, whatever its layout in memory and the tail of a loop that it falls into.
TEST(Sums, CanonicalIsOneChain) {
  for (std::int64_t inner : {1, 3, 32, 45})
    for (std::int64_t outer : {1, 11})
      for (InstructionSet set : available_instruction_sets()) {
        Dims shape = {outer, 50, inner};
        Tensor data = values_of(shape, DType::float32);
        Tensor result = empty({outer, inner}, DType::float32);
        std::vector<double> means(std::size_t(outer * inner), 0.3);
        for (int term = 0; term < 4; ++term) {
          SumRequest request = request_of(data, result);
          request.term = SumTerm(term);
          request.means = means;
          canonical_sum(request, set);
          auto x = data.values<float>();
          for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t j = 0; j < inner; ++j) {
              float sum = 0;
              for (std::int64_t i = 0; i < 50; ++i) {
                float v = x[std::size_t((o * 50 + i) * inner + j)], deviation = v - 0.3f;
                sum += term == 0   ? v
                       : term == 1 ? v * v
                       : term == 2 ? std::fabs(v)
                                   : deviation * deviation;
              }
              ASSERT_EQ(result.values<float>()[std::size_t(o * inner + j)], sum);
            }
        }
      }
}

RC_GTEST_PROP(SumsProperty, ExactDoesNotDependOnOrder, ()) {
  auto dtype = *rc::gen::elementOf(
      std::vector<DType>{DType::float64, DType::float32, DType::bfloat16, DType::float16});
  auto count = *rc::gen::inRange<std::int64_t>(1, 5000);
  auto turn = *rc::gen::inRange<std::int64_t>(0, count);
  auto term = *rc::gen::inRange(0, 3);
  Dims shape = {1, count, 1};
  Tensor data = values_of(shape, dtype), turned = data.clone();
  visit_dtype(dtype, [&]<class T>(T) {
    auto x = turned.mutable_values<T>();
    std::rotate(x.begin(), x.begin() + turn, x.end());
  });
  Tensor first = empty({1}, dtype), second = empty({1}, dtype);
  SumRequest a = request_of(data, first), b = request_of(turned, second);
  a.term = b.term = SumTerm(term);
  exact_sum(a);
  exact_sum(b);
  RC_ASSERT(same_bits(first, second));
}

TEST(Sums, ExactRoundsTheTrueSumOnce) {
  Tensor data = tensor_of<float>({1, 4, 1}, {1, 0x1p-30f, -1, 0x1p-40f});
  Tensor result = empty({1}, DType::float32);
  double total = 0;
  SumRequest request = request_of(data, result);
  request.totals = {&total, 1};
  exact_sum(request);
  EXPECT_EQ(total, 0x1p-30 + 0x1p-40);
  EXPECT_EQ(result.values<float>()[0], float(0x1p-30 + 0x1p-40));
  Tensor wide = tensor_of<double>({1, 3, 1}, {1, 0x1p-90, -1}), sum = empty({1}, DType::float64);
  exact_sum(request_of(wide, sum));
  EXPECT_EQ(sum.values<double>()[0], 0x1p-90);
  Tensor nothing = zeros({2, 0, 1}, DType::float32), zero = full({2}, DType::float32, 7);
  exact_sum(request_of(nothing, zero));
  EXPECT_EQ(zero.values<float>()[1], 0);
}

TEST(Sums, NonFiniteTerms) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Tensor data = tensor_of<float>({3, 2, 1}, {infinity, 1, infinity, -infinity, std::nanf(""), 1});
  Tensor result = empty({3}, DType::float32);
  exact_sum(request_of(data, result));
  EXPECT_EQ(result.values<float>()[0], infinity);
  EXPECT_TRUE(std::isnan(result.values<float>()[1]));
  EXPECT_TRUE(std::isnan(result.values<float>()[2]));
}

TEST(Sums, IntegersAddToTheirKind) {
  Tensor data = tensor_of<std::uint8_t>({1, 3, 1}, {200, 100, 1});
  Tensor result = empty({1}, DType::int64);
  canonical_sum(request_of(data, result));
  EXPECT_EQ(result.values<std::int64_t>()[0], 301);
  Tensor wrong = empty({1}, DType::float32);
  EXPECT_THROW(exact_sum(request_of(data, wrong)), Error);
}

TEST(Sums, ArithmeticChoosesTheKind) {
  Tensor data = tensor_of<float>({1, 3, 1}, {1, 0x1p-30f, -1}), result = empty({1}, DType::float32);
  compute(Arithmetic::exact(), request_of(data, result));
  EXPECT_EQ(result.values<float>()[0], 0x1p-30f);
  compute(Arithmetic::canonical(), request_of(data, result));
  EXPECT_EQ(result.values<float>()[0], 0);
}

}  // namespace
}  // namespace simmesh
