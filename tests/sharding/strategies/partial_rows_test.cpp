#include "sharding/strategies/partial_rows.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace simmesh {
namespace {

double reduced(const Placement& placement, std::initializer_list<double> parts) {
  if (placement.is_replicate()) return *parts.begin();
  switch (placement.reduce_op()) {
    case ReduceOp::sum: return *parts.begin() + *(parts.begin() + 1);
    case ReduceOp::avg: return (*parts.begin() + *(parts.begin() + 1)) / 2;
    case ReduceOp::max: return std::max(parts);
    default: return std::min(parts);
  }
}

// True if a row of two operands holds for parts of all small whole numbers.
template <class F>
bool holds(const StrategyRow& row, F f) {
  for (double a = -2; a <= 2; ++a)
    for (double b = -2; b <= 2; ++b)
      for (double c = -2; c <= 2; ++c)
        for (double d = -2; d <= 2; ++d) {
          const Placement& left = *row.inputs[0];
          Placement right = row.inputs.size() > 1 ? *row.inputs[1] : Replicate();
          double second_left = left.is_replicate() ? a : b;
          double second_right = right.is_replicate() ? c : d;
          double whole = f(reduced(left, {a, second_left}), reduced(right, {c, second_right}));
          if (whole != reduced(*row.outputs[0], {f(a, c), f(second_left, second_right)}))
            return false;
        }
  return true;
}

// A list has a row that doesn't hold for the property in its name.
TEST(PartialRows, HoldForWhatTheyAreNamedAfter) {
  auto all = [](const StrategyRows& rows, auto f) {
    return std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return holds(row, f); });
  };
  EXPECT_TRUE(all(linear_rows(), [](double a, double) { return 3 * a; }));
  EXPECT_TRUE(all(increasing_rows(), [](double a, double) { return a * a * a; }));
  EXPECT_TRUE(all(decreasing_rows(), [](double a, double) { return -a; }));
  EXPECT_TRUE(all(additive_rows(), [](double a, double b) { return a - 2 * b; }));
  EXPECT_TRUE(all(product_rows(), [](double a, double b) { return a * b; }));
  EXPECT_TRUE(all(quotient_rows(), [](double a, double b) { return a / std::exp2(b); }));
  EXPECT_TRUE(all(passing_rows(), [](double a, double) { return a; }));
  EXPECT_TRUE(all(increasing_pair_rows(), [](double a, double b) { return a + b; }));
  EXPECT_TRUE(all(largest_rows(), [](double a, double b) { return std::max(a, b); }));
  EXPECT_TRUE(all(least_rows(), [](double a, double b) { return std::min(a, b); }));
  EXPECT_FALSE(all(largest_rows(), [](double a, double b) { return a + b; }));
  EXPECT_FALSE(all(increasing_pair_rows(), [](double a, double b) { return a - b; }));
  EXPECT_FALSE(all(increasing_rows(), [](double a, double) { return a * a; }));
  EXPECT_FALSE(all(linear_rows(), [](double a, double) { return a + 1; }));
}

}  // namespace
}  // namespace simmesh
