#include <algorithm>
#include <benchmark/benchmark.h>
#include <boost/fiber/all.hpp>
#include <chrono>
#include <thread>

#include "collectives/collectives.h"
#include "core/engine/world.h"

// Compares a barrier, per rank, with a bare Boost.Fiber yield, per fiber; the counter "ratio" is
// the first over the second. Noise only adds time, so the two take turns and the smallest time of
// each counts.
namespace simmesh {
namespace {

constexpr int switches = 1 << 16;

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Boost's own scheduler must run on a thread without a World.
double bare_yield_seconds(int fibers) {
  double seconds = 0;
  std::thread([&] {
    auto start = std::chrono::steady_clock::now();
    std::vector<boost::fibers::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.emplace_back([=] {
        for (int turn = 0; turn < switches / fibers; ++turn) boost::this_fiber::yield();
      });
    for (auto& fiber : all) fiber.join();
    seconds = seconds_from(start);
  }).join();
  return seconds;
}

double barrier_seconds(World& world, int ranks) {
  auto start = std::chrono::steady_clock::now();
  world.run([=](Rank&) {
    ProcessGroup group = ProcessGroup::world();
    for (int turn = 0; turn < switches / ranks; ++turn) barrier(group);
  });
  return seconds_from(start);
}

void barrier_per_rank(benchmark::State& state) {
  int ranks = int(state.range(0));
  World world({.ranks = std::size_t(ranks)});
  double ours = 1e9, bare = 1e9;
  while (state.KeepRunning()) {
    double seconds = barrier_seconds(world, ranks);
    ours = std::min(ours, seconds);
    bare = std::min(bare, bare_yield_seconds(ranks));
    state.SetIterationTime(seconds / switches);
  }
  state.counters["barrier_ns"] = ours * 1e9 / switches;
  state.counters["bare_yield_ns"] = bare * 1e9 / switches;
  state.counters["ratio"] = ours / bare;
}

// Times a run and its barriers with guard pages, poison and a watchdog, over the same without; and
// a World that is made for one empty run.
void barrier_with_checks(benchmark::State& state) {
  int ranks = int(state.range(0));
  WorldOptions plain = {.ranks = std::size_t(ranks), .guard_pages = false};
  WorldOptions checked = {
      .ranks = std::size_t(ranks), .guard_pages = true, .timeout_seconds = 60, .poison = true};
  World without(plain), with(checked);
  auto world_seconds = [](const WorldOptions& options) {
    auto start = std::chrono::steady_clock::now();
    World(options).run([](Rank&) {});
    return seconds_from(start);
  };
  double barriers[2] = {1e9, 1e9}, worlds[2] = {1e9, 1e9};
  while (state.KeepRunning()) {
    double seconds = barrier_seconds(with, ranks);
    barriers[0] = std::min(barriers[0], barrier_seconds(without, ranks));
    barriers[1] = std::min(barriers[1], seconds);
    worlds[0] = std::min(worlds[0], world_seconds(plain));
    worlds[1] = std::min(worlds[1], world_seconds(checked));
    state.SetIterationTime(seconds / switches);
  }
  state.counters["barrier_ratio"] = barriers[1] / barriers[0];
  state.counters["world_us"] = worlds[1] * 1e6;
  state.counters["world_ratio"] = worlds[1] / worlds[0];
}

BENCHMARK(barrier_with_checks)
    ->Name("barrier_with_checks")
    ->ArgName("ranks")
    ->RangeMultiplier(8)
    ->Range(8, 4096)
    ->UseManualTime()
    ->Iterations(20)
    ->Unit(benchmark::kNanosecond);

BENCHMARK(barrier_per_rank)
    ->Name("barrier_per_rank")
    ->ArgName("ranks")
    ->RangeMultiplier(4)
    ->Range(8, 1024)
    ->UseManualTime()
    ->Iterations(40)
    ->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace simmesh
