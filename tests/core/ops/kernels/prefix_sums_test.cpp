#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

// Each element of an exact cumsum has the bits of the exact sum of its terms.
void expect_sums_of_prefixes(const Tensor& x, std::int64_t dim) {
  Tensor scanned = cumsum(x, dim);
  for (std::int64_t k = 0; k < x.size(dim); ++k) {
    Tensor whole = sum(narrow(x, {.dim = dim, .start = 0, .length = k + 1}), dim, true);
    Tensor got = narrow(scanned, {.dim = dim, .start = k, .length = 1}).contiguous();
    ASSERT_TRUE(same_bits(got, whole.contiguous())) << to_string(x.dtype()) << " at " << k;
  }
}

Tensor line_of(double (*element)(int place), DType dtype) {
  Tensor x = empty({200}, DType::float64);
  int place = 0;
  for (double& value : x.mutable_values<double>()) value = element(place++);
  return to(x, dtype);
}

TEST(PrefixSums, HaveTheBitsOfSums) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  for (DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    Tensor x =
        to(formula({3, 40, 2}, {.rule = Rule::unit, .seed = 7, .dtype = DType::float64}), dtype);
    for (std::int64_t dim : {0, 1, 2}) expect_sums_of_prefixes(x, dim);
    // Magnitudes that grow, shrink, and cancel, change what must be kept on the way.
    expect_sums_of_prefixes(line_of([](int k) { return std::ldexp(1.1, k - 100); }, dtype), 0);
    expect_sums_of_prefixes(line_of([](int k) { return std::ldexp(-1.3, 60 - k); }, dtype), 0);
    expect_sums_of_prefixes(
        line_of([](int k) { return (k % 2 ? -1 : 1) * std::ldexp(1.7, k / 2 % 30); }, dtype), 0);
    expect_sums_of_prefixes(line_of([](int k) { return k < 90 ? 0.0 : 0x1p-140 * k; }, dtype), 0);
    // More bits than three doubles hold, and all of them but the last cancelled.
    expect_sums_of_prefixes(line_of(
                                [](int k) {
                                  return std::ldexp(k < 100 ? 1.3 : -1.3,
                                                    k < 100 ? 120 - 2 * k : 2 * k - 278);
                                },
                                dtype),
                            0);
  }
}

// If this fails, the length of a line has a limit.
TEST(PrefixSums, OfLongLines) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  Tensor x = formula({8200}, {.rule = Rule::unit, .seed = 9});
  Tensor scanned = cumsum(x, 0);
  for (std::int64_t k : {4094, 4095, 4096, 8190, 8191, 8199})
    EXPECT_TRUE(same_bits(narrow(scanned, {.dim = 0, .start = k, .length = 1}).contiguous(),
                          sum(narrow(x, {.dim = 0, .start = 0, .length = k + 1}), 0, true)))
        << k;
}

TEST(PrefixSums, KeepInfinitiesAndNan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  expect_sums_of_prefixes(tensor_of<float>({5}, {1, infinity, 2, -infinity, 3}), 0);
  EXPECT_EQ(to_string(cumsum(tensor_of<float>({4}, {1, -infinity, 2, 3}), 0)),
            "float32[4] {1, -inf, -inf, -inf}");
}

}  // namespace
}  // namespace simmesh
