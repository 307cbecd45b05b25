#include "checkpoint/zero_cost/moving_average.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using ::testing::HasSubstr;

// Each product and the sum are rounded. One rounding less would give other bits.
TEST(MovingAverage, RoundsEachStep) {
  std::int64_t fused_differs = 0;
  for (double coefficient : {0.0, 0.5, 0.9, 0.99, 0.9999, 1.0}) {
    MovingAverage average(1, {.coefficient = coefficient});
    volatile float expected = 0, kept = float(coefficient), taken = float(1.0 - coefficient);
    for (int step = 1; step <= 50; ++step) {
      float value = 1.0f / float(step) - 0.3f;
      float fused = float(double(kept) * double(expected) + double(taken) * double(value));
      volatile float first = kept * expected, second = taken * value;
      expected = first + second;
      fused_differs += fused != expected;
      average.update({&value, 1});
      ASSERT_EQ(average.values()[0], expected) << coefficient << " " << step;
    }
  }
  EXPECT_GT(fused_differs, 0);
}

TEST(MovingAverage, StartsWithZerosOrTheFirstValues) {
  float values[] = {2, 4};
  MovingAverage zeros(2, {.coefficient = 0.5});
  MovingAverage first(2, {.coefficient = 0.5, .start = MovingAverage::Start::first_value});
  zeros.update(values);
  first.update(values);
  EXPECT_THAT(zeros.values(), ::testing::ElementsAre(1, 2));
  EXPECT_THAT(first.values(), ::testing::ElementsAre(2, 4));
  first.update(zeros.values());
  EXPECT_THAT(first.values(), ::testing::ElementsAre(1.5, 3));
}

TEST(MovingAverage, RefusesOtherCoefficients) {
  for (double coefficient : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(
        simmesh::testing::error_text([&] { MovingAverage(1, {.coefficient = coefficient}); }),
        HasSubstr("expected a coefficient within [0, 1]"));
}

}  // namespace
}  // namespace simmesh::checkpoint
