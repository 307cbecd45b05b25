#include "core/clock/clock.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/clock/device_model.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/kernels/matrix.h"
#include "core/ops/matrices/products.h"
#include "core/tensor/formula.h"
#include "tests/every_schedule.h"

namespace simmesh {
namespace {

Outcome run_on_device(const DeviceModel& model, const std::function<void(Rank&)>& body) {
  World world({.ranks = 1, .device = model});
  Outcome outcome = world.run(body);
  outcome.rethrow();
  return outcome;
}

// A clock that changed data or schedule would be no annotation.
TEST(Clock, ChangesNoResult) {
  auto body = [](Rank& rank) {
    Tensor x = formula({8, 8}, {.seed = 3});
    rank.record(add(mm(x, x), x));
    rank.run().yield(rank, CallSite::here());
  };
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads : {1, 2}) {
      WorldOptions options{.ranks = 3, .schedule = Schedule::parse(schedule), .threads = threads};
      Outcome without = World(options).run(body);
      options.device = DeviceModel{};
      Outcome with = World(options).run(body);
      ASSERT_TRUE(with.ok()) << report(with);
      EXPECT_EQ(with.data_hash, without.data_hash);
      EXPECT_EQ(with.schedule_hash, without.schedule_hash);
      EXPECT_EQ(with.peak_bytes, without.peak_bytes);
      EXPECT_TRUE(without.devices.empty());
      ASSERT_EQ(with.devices.size(), 3u);
      EXPECT_GT(with.devices[2].makespan_us, 0);
    }
}

// An op costs its launch, its bytes and its operations, once, whatever its kernel calls.
TEST(Clock, AnOpCostsWhatTheModelSays) {
  DeviceModel model{.launch_us = 3, .memory_gb_s = 2, .teraflops = 0.001};
  constexpr double bytes = 3 * 64 * 64 * 4, operations = 2.0 * 64 * 64 * 64;
  Outcome outcome = run_on_device(model, [](Rank&) {
    Tensor a = empty({64, 64}, DType::float32);
    std::fill_n(a.mutable_values<float>().data(), 64 * 64, 1.0f);
    mm(a, a);
  });
  EXPECT_DOUBLE_EQ(outcome.devices[0].makespan_us,
                   3 + (bytes / (1 << 30) / 2 + operations / 1e12 / 0.001) * 1e6);
  EXPECT_EQ(outcome.devices[0].streams[0].operations, 1u);
}

// The allocator follows the rank's storages, and measures what the ledger can't.
TEST(Clock, MeasuresReservedBytes) {
  Outcome outcome = run_on_device({}, [](Rank& rank) {
    Tensor x = empty({1 << 18}, DType::float32);
    EXPECT_EQ(rank.clock()->memory().active.current, 1 << 20);
    x.storage()->free();
    EXPECT_EQ(rank.clock()->memory().active.current, 0);
    x.storage()->restore();
    EXPECT_EQ(rank.clock()->memory().active.current, 1 << 20);
  });
  EXPECT_EQ(outcome.devices[0].memory.reserved.peak, 2 << 20);
  EXPECT_EQ(outcome.devices[0].memory.active.current, 0);
}

// A device that is full ends the run with its figures.
TEST(Clock, RefusesWhatDoesNotFit) {
  World world({.ranks = 1, .device = DeviceModel{.capacity_bytes = 4 << 20}});
  Outcome outcome = world.run([](Rank&) { empty({4 << 20}, DType::float32); });
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.failure->message.find("out of memory"), std::string::npos);
  EXPECT_EQ(outcome.live_storages, 0);
}

// A checker that is switched off leaves times and figures.
TEST(Clock, RacesCanBeIgnored) {
  for (bool checks : {true, false}) {
    World world({.ranks = 1, .device = DeviceModel{.checks_races = checks}});
    Outcome outcome = world.run([](Rank& rank) {
      Clock& clock = *rank.clock();
      Tensor x = zeros({4}, DType::float32);
      clock.set_current_stream(clock.make_stream("other"));
      add(x, x);
      clock.set_current_stream(0);
    });
    EXPECT_EQ(outcome.ok(), !checks);
  }
}

}  // namespace
}  // namespace simmesh
