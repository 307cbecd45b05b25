#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include <simmesh/core/arithmetic/sum_grid.h>
#include <simmesh/core/check/error.h>
#include <simmesh/core/tensor/formula.h>

namespace simmesh {
namespace {

Tensor added(const Tensor& a, const Tensor& b) {
  Tensor sum = empty(a.shape(), DType::int64);
  auto out = sum.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = a.values<std::int64_t>()[i] + b.values<std::int64_t>()[i];
  return sum;
}

void expect_error(ErrorKind kind, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
  }
}

// If this fails, gradients depend on how micro-batches or shards group the terms.
TEST(SumGrid, AnyGroupingGivesTheFlatSum) {
  std::vector<Tensor> terms;
  double largest = 0;
  for (std::uint64_t r = 0; r < 6; ++r) {
    double scale = std::ldexp(1.0, 3 * int(r));
    terms.push_back(formula({200}, {.rule = Rule::unit, .seed = r, .scale = scale}));
    largest = std::max(largest, SumGrid::magnitude_max(terms.back()));
  }
  SumGrid grid = SumGrid::of({.magnitude_max = largest, .terms = 6});
  auto carried = [&](std::size_t r) { return grid.to_accumulators(terms[r]); };
  Tensor flat = carried(0);
  for (std::size_t r = 1; r < 6; ++r) flat = added(flat, carried(r));
  Tensor pairs = added(added(carried(5), carried(2)), added(carried(4), carried(0)));
  pairs = added(added(carried(1), carried(3)), pairs);
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::float64})
    EXPECT_TRUE(same_bits(grid.to_values(flat, dtype), grid.to_values(pairs, dtype)));
  Tensor sum = grid.to_values(flat, DType::float32);
  for (std::size_t i = 0; i < 200; ++i) {
    // Terms are multiples of 2^-23 below 2^15 of a grid of 2^-36: a double holds the whole sum.
    double exact = 0;
    for (const Tensor& term : terms) exact += double(term.values<float>()[i]);
    EXPECT_EQ(sum.values<float>()[i], static_cast<float>(exact)) << i;
  }
}

// If this fails, terms lose bits they need not, or a sum of the most terms overflows 63 bits.
TEST(SumGrid, IsTheFinestGridThatCannotOverflow) {
  EXPECT_EQ(SumGrid::of({.magnitude_max = 0.75, .terms = 4}).scale(), 51);
  EXPECT_EQ(SumGrid::of({.magnitude_max = 1.0, .terms = 4095}).scale(), 50);
  EXPECT_EQ(SumGrid::of({.magnitude_max = 1.0, .terms = 4096}).scale(), 49);
  EXPECT_EQ(SumGrid::of({.magnitude_max = 0.0, .terms = 1}).scale(), 0);
  for (std::int64_t terms : {std::int64_t(1), std::int64_t(4095), std::int64_t(4096),
                             std::int64_t(1) << 40, INT64_MAX}) {
    int bits = SumGrid::of({.magnitude_max = 0.75, .terms = terms}).scale();
    EXPECT_LT(double(terms) * std::ldexp(1.0, bits), 0x1p63 * (1 + 0x1p-50)) << terms;
    EXPECT_GE(bits, 0);
  }
}

// If this fails, ties go up or towards zero, and sums of equal data drift.
TEST(SumGrid, TermsRoundToNearestEven) {
  SumGrid grid = SumGrid::of({.magnitude_max = 0x1p50, .terms = 1});  // scale 0
  ASSERT_EQ(grid.scale(), 0);
  Tensor steps = grid.to_accumulators(
      tensor_of<float>({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.75f, -2.25f, -0.0f}));
  auto k = steps.values<std::int64_t>();
  EXPECT_EQ(std::vector<std::int64_t>(k.begin(), k.end()),
            (std::vector<std::int64_t>{0, 2, 2, 0, -2, 1, -2, 0}));
}

// If this fails, terms outside the grid wrap around silently.
TEST(SumGrid, TermsBeyondTheBoundAreRefused) {
  double infinity = std::numeric_limits<double>::infinity();
  expect_error(ErrorKind::value_error, [&] { SumGrid::of({.magnitude_max = infinity}); });
  expect_error(ErrorKind::value_error, [&] { SumGrid::of({.magnitude_max = NAN}); });
  expect_error(ErrorKind::value_error, [&] { SumGrid::of({.magnitude_max = 1, .terms = 0}); });
  for (std::int64_t terms : {1, 4096, 1 << 20}) {
    SumGrid grid = SumGrid::of({.magnitude_max = 1.0, .terms = terms});
    EXPECT_NO_THROW(grid.to_accumulators(tensor_of<float>({2}, {1.0f, -1.9999f})));
    for (float x : {4.0f, -4.0f, HUGE_VALF, -HUGE_VALF, NAN})
      expect_error(ErrorKind::value_error,
                   [&] { grid.to_accumulators(tensor_of<float>({1}, {x})); });
  }
  SumGrid nothing = SumGrid::of({.magnitude_max = 0.0, .terms = 4});
  EXPECT_NO_THROW(nothing.to_accumulators(zeros({3}, DType::float32)));
  expect_error(ErrorKind::value_error,
               [&] { nothing.to_accumulators(tensor_of<float>({1}, {1.0f})); });
  expect_error(ErrorKind::type_error, [&] { nothing.to_accumulators(zeros({1}, DType::float64)); });
  expect_error(ErrorKind::type_error, [&] { nothing.to_accumulators(zeros({1}, DType::int32)); });
}

// If this fails, the grid is chosen from infinities, or from a part of a strided tensor.
TEST(SumGrid, MagnitudeIgnoresWhatIsNotFinite) {
  Tensor x = tensor_of<float>({2, 2}, {-3.5f, HUGE_VALF, NAN, 1.0f});
  EXPECT_EQ(SumGrid::magnitude_max(x), 3.5);
  EXPECT_EQ(SumGrid::magnitude_max(x.narrow({.dim = 1, .start = 1, .length = 1})), 1.0);
  EXPECT_EQ(SumGrid::magnitude_max(zeros({0}, DType::float32)), 0.0);
  EXPECT_EQ(SumGrid::magnitude_max(tensor_of<Half>({1}, {Half(-2)})), 2.0);
}

}  // namespace
}  // namespace simmesh
