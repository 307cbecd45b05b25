#include "tests/zero/zero_runs.h"

// Faults of overlap_comm, which reduces a bucket while the next is filled. The names have the
// numbers of DeepSpeed's issues.
namespace simmesh::zero {
namespace {

Config overlapping(std::int64_t stage, std::int64_t bucket, bool overlaps) {
  Config config = small_stage3();
  config.gradient_clipping = 0.0;
  config.zero_optimization.stage = stage;
  config.zero_optimization.reduce_bucket_size = bucket;
  config.zero_optimization.overlap_comm = overlaps;
  return config;
}

// #5545, #7188: with overlap a bucket was read before all of it was written, or written again while
// it was reduced. On a device such a use is reported as a race.
TEST(KnownOverlapFaults, OverlapWithContiguousGradients5545And7188) {
  for (std::int64_t stage : {1, 2, 3})
    for (bool sums : {false, true}) {
      // In canonical arithmetic a sum is reduced from the bucket itself.
      World world({.ranks = 2,
                   .arithmetic = sums ? Arithmetic::canonical() : exact,
                   .device = DeviceModel{}});
      Outcome outcome = world.run([&](Rank&) {
        Config serial = overlapping(stage, 1000, false), overlapped = serial;
        serial.sum_gradients = overlapped.sum_gradients = sums;
        serial.gradient_accumulation_steps = overlapped.gradient_accumulation_steps = 2;
        overlapped.zero_optimization.overlap_comm = true;
        ZeroRun expected = run_zero(three_linears, serial);
        for (std::int64_t bucket : {1, 10, 25, 30, 1000})
          for (bool is_contiguous : {true, false}) {
            overlapped.zero_optimization.reduce_bucket_size = bucket;
            overlapped.zero_optimization.contiguous_gradients = is_contiguous;
            expect_same_run(run_zero(three_linears, overlapped), expected);
          }
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
}

double makespan_us_of(std::int64_t stage, bool overlaps) {
  World world({.ranks = 2, .device = DeviceModel{.launch_us = 50}});
  Outcome outcome = world.run([&](Rank& rank) {
    Config config = overlapping(stage, 1024, overlaps);
    std::vector<nn::NamedModule> layers;
    for (const char* name : {"a", "b", "c", "d"}) layers.emplace_back(name, new_linear(32, 32));
    nn::Sequential model(layers);
    Engine engine = initialize(model, make_adamw, config, ProcessGroup::world());
    engine.backward(sum(engine(rank_input(rank.id(), 0, {2, 32}))));
    engine.step();
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return outcome.devices.at(0).makespan_us;
}

// #7804, #8061: overlap_comm was on, and nothing overlapped.
TEST(KnownOverlapFaults, ReductionsOverlapWhereTheyAreToldTo7804And8061) {
  for (std::int64_t stage : {1, 2, 3})
    EXPECT_LT(makespan_us_of(stage, true), makespan_us_of(stage, false)) << stage;
}

}  // namespace
}  // namespace simmesh::zero
