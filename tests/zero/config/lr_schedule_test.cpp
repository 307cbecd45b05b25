#include "zero/config/lr_schedule.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;
using Rates = std::vector<double>;

// Initial rates of the two groups of the optimiser with which the figures below were recorded, from
// DeepSpeed 0.19.8: before the first step, and after each.
const Rates initial = {0.01, 0.004};

Rates rates_of(const LrSchedule& schedule, std::size_t group, std::int64_t steps) {
  Rates rates;
  for (std::int64_t iteration = -1; iteration < steps; ++iteration)
    rates.push_back(schedule(iteration).learning_rates[group]);
  return rates;
}

void expect_rates(const LrSchedule& schedule, const Rates& expected, std::size_t group = 0) {
  EXPECT_EQ(rates_of(schedule, group, std::int64_t(expected.size()) - 1), expected);
}

// A logarithm or cosine of the C library and ours are each off by at most 2 units in the last
// place; the operations after it add at most 3 more.
void expect_near_rates(const LrSchedule& schedule, const Rates& expected, std::size_t group = 0) {
  Rates rates = rates_of(schedule, group, std::int64_t(expected.size()) - 1);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(rates[i], expected[i], 7 * 0x1p-52 * std::abs(expected[i])) << i;
}

TEST(LrSchedule, WarmupRises) {
  expect_near_rates(lr_schedule(WarmupLR{.warmup_max_lr = 0.003, .warmup_num_steps = 5}, initial),
                    {0.0, 0.0, 0.0012920296742201791, 0.0020478185834579563, 0.0025840593484403583,
                     0.003, 0.003, 0.003});
  WarmupLR linear{.warmup_min_lr = Rates{0.001, 0.0005},
                  .warmup_num_steps = 4,
                  .warmup_type = WarmupType::linear};
  expect_rates(lr_schedule(linear, initial),
               {0.001, 0.001, 0.0032500000000000003, 0.0055000000000000005, 0.007750000000000001,
                0.010000000000000002, 0.010000000000000002, 0.010000000000000002});
  expect_rates(
      lr_schedule(linear, initial),
      {0x1.0624dd2f1a9fcp-11, 0x1.0624dd2f1a9fcp-11, 0x1.6872b020c49bap-10, 0x1.26e978d4fdf3cp-9,
       0x1.999999999999ap-9, 0x1.0624dd2f1a9fcp-8, 0x1.0624dd2f1a9fcp-8, 0x1.0624dd2f1a9fcp-8},
      1);
}

// A warm-up of one step counts as one of two.
TEST(LrSchedule, WarmupHasAtLeastTwoSteps) {
  expect_rates(
      lr_schedule(WarmupLR{.warmup_min_lr = 0.002, .warmup_max_lr = 0.003, .warmup_num_steps = 1},
                  initial),
      {0.002, 0.002, 0.003, 0.003});
}

TEST(LrSchedule, WarmupDecayFallsLinearly) {
  expect_near_rates(
      lr_schedule(WarmupDecayLR{.total_num_steps = 8, .warmup_num_steps = 3}, initial),
      {0.0, 0.0, 0.0006309297535714573, 0.001, 0.001, 0.0008, 0.0006, 0.0004, 0.0002, 0.0});
  expect_rates(
      lr_schedule(WarmupDecayLR{.total_num_steps = 7,
                                .warmup_min_lr = 0.02,
                                .warmup_max_lr = 0.1,
                                .warmup_num_steps = 3,
                                .warmup_type = WarmupType::linear},
                  initial),
      {0.02, 0.02, 0.04666666666666666, 0.07333333333333333, 0.1, 0.08, 0.06, 0.04, 0.02, 0.02});
}

TEST(LrSchedule, WarmupCosineFallsAlongACosine) {
  LrSchedule log =
      lr_schedule(WarmupCosineLR{.total_num_steps = 8, .warmup_num_steps = 3}, initial);
  // The last two are differences of nearly equal numbers, exact because the cosine of pi is -1.
  expect_near_rates(log, {0.0, 0.0, 0.0063092975357145736, 0.01, 0.00904518046337755,
                          0.0065454304633775495, 0.003455569536622451});
  EXPECT_EQ(log(7).learning_rates[0], 1.0000000000000002e-06);
  EXPECT_EQ(log(100).learning_rates[0], 1.0000000000000002e-06);
  EXPECT_EQ(log(100).learning_rates[1], 0x1.ad7f29abcaf49p-22);
  expect_near_rates(lr_schedule(WarmupCosineLR{.total_num_steps = 8,
                                               .warmup_min_ratio = 0.1,
                                               .warmup_num_steps = 4,
                                               .cos_min_ratio = 0.05,
                                               .warmup_type = WarmupType::linear},
                                initial),
                    {0.0, 0.001, 0.0032500000000000003, 0.0055000000000000005, 0.007750000000000001,
                     0.0086087572106361, 0.00525, 0.0018912427893638996, 0.0005, 0.0005});
}

TEST(LrSchedule, OneCycleRisesFallsAndDecays) {
  LrSchedule slope = lr_schedule(OneCycle{.cycle_min_lr = 0.001,
                                          .cycle_max_lr = 0.01,
                                          .decay_lr_rate = 0.5,
                                          .cycle_first_step_size = 3,
                                          .decay_step_size = 2,
                                          .decay_mom_rate = 0.25},
                                 initial);
  expect_rates(slope, {0.001, 0.004000000000000002, 0.006999999999999999, 0.010000000000000002,
                       0.007000000000000004, 0.003999999999999998, 0.001, 0.0008,
                       0.0006666666666666666, 0.0005714285714285715});
  Rates momenta;
  for (std::int64_t iteration = -1; iteration < 9; ++iteration) {
    momenta.push_back(slope(iteration).betas[1][0]);
    EXPECT_EQ(slope(iteration).betas[1][1], 0.99);
  }
  EXPECT_EQ(momenta, (Rates{0.8, 0.8666666666666667, 0.8333333333333334, 0.8, 0.8333333333333334,
                            0.8666666666666667, 0.9, 1.0125, 1.125, 1.2375}));
}

TEST(LrSchedule, OneCycleGoesInStairs) {
  OneCycle stairs{.cycle_min_lr = Rates{0.001, 0.002},
                  .cycle_max_lr = Rates{0.01, 0.03},
                  .cycle_first_step_size = 6,
                  .cycle_second_step_size = 4,
                  .cycle_first_stair_count = 3,
                  .cycle_second_stair_count = 2,
                  .cycle_min_mom = 0.7,
                  .cycle_max_mom = 0.95};
  LrSchedule schedule = lr_schedule(stairs, initial);
  expect_rates(schedule,
               {0.001, 0.001, 0.004, 0.004, 0.007, 0.007, 0.010000000000000002,
                0.0055000000000000005, 0.0055000000000000005, 0.001, 0.001, 0.001, 0.001});
  expect_rates(
      schedule,
      {0x1.0624dd2f1a9fcp-9, 0x1.0624dd2f1a9fcp-9, 0x1.735ee402bb0cfp-7, 0x1.735ee402bb0cfp-7,
       0x1.529a485cd7b90p-6, 0x1.529a485cd7b90p-6, 0x1.eb851eb851eb8p-6, 0x1.0624dd2f1a9fcp-6,
       0x1.0624dd2f1a9fcp-6, 0x1.0624dd2f1a9fcp-9},
      1);
  EXPECT_EQ(schedule(1).betas[0][0], 0.8666666666666666);
  EXPECT_EQ(schedule(11).betas[0][0], 0.95);
  stairs.cycle_momentum = false;
  EXPECT_TRUE(lr_schedule(stairs, initial)(3).betas.empty());
}

TEST(LrSchedule, RangeTestRises) {
  expect_rates(
      lr_schedule(LRRangeTest{.lr_range_test_min_lr = 0.001,
                              .lr_range_test_step_size = 4,
                              .lr_range_test_step_rate = 2.5},
                  initial),
      {0.001, 0.0016250000000000001, 0.0022500000000000003, 0.002875, 0.0035, 0.004125, 0.00475});
  LRRangeTest stairs{.lr_range_test_min_lr = Rates{0.001, 0.003},
                     .lr_range_test_step_size = 2,
                     .lr_range_test_staircase = true};
  expect_rates(lr_schedule(stairs, initial), {0.001, 0.001, 0.002, 0.002, 0.003, 0.003, 0.004});
  expect_rates(lr_schedule(stairs, initial),
               {0x1.89374bc6a7efap-9, 0x1.89374bc6a7efap-9, 0x1.89374bc6a7efap-8,
                0x1.89374bc6a7efap-8, 0x1.26e978d4fdf3cp-7},
               1);
}

TEST(LrSchedule, ListsHaveOneNumberPerGroup) {
  expect_error(
      [] {
        lr_schedule(WarmupLR{.warmup_min_lr = Rates{1, 2, 3}}, initial);
      },
      ErrorKind::value_error,
      "scheduler.params.warmup_min_lr: expected a number, or 2 for the groups");
  EXPECT_EQ(by_group(0.5, 3, "x"), (Rates{0.5, 0.5, 0.5}));
}

}  // namespace
}  // namespace simmesh::zero
