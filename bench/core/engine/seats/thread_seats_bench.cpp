#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "core/engine/world.h"

// Compares the switch between ranks that are threads with its limit: threads in a ring that do
// nothing but wake the next one and wait. The counter "ratio" is the first over the second. Noise
// only adds time, so the two take turns and the smallest time of each counts.
namespace simmesh {
namespace {

constexpr int turns = 1 << 12;

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double ring_seconds(int count) {
  std::vector<std::unique_ptr<std::binary_semaphore>> places;
  for (int i = 0; i < count; ++i) places.push_back(std::make_unique<std::binary_semaphore>(0));
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < turns / count; ++turn) {
        places[std::size_t(i)]->acquire();
        places[std::size_t((i + 1) % count)]->release();
      }
    });
  auto start = std::chrono::steady_clock::now();
  places[0]->release();
  threads.clear();
  return seconds_from(start);
}

double yield_seconds(World& world, int ranks) {
  auto start = std::chrono::steady_clock::now();
  world.run([=](Rank& rank) {
    for (int turn = 0; turn < turns / ranks; ++turn) rank.yield();
  });
  return seconds_from(start);
}

void turn_of_threads(benchmark::State& state) {
  int ranks = int(state.range(0));
  World world({.ranks = std::size_t(ranks), .ranks_are_threads = true});
  double ours = 1e9, ring = 1e9;
  while (state.KeepRunning()) {
    double seconds = yield_seconds(world, ranks);
    ours = std::min(ours, seconds);
    ring = std::min(ring, ring_seconds(ranks));
    state.SetIterationTime(seconds / turns);
  }
  state.counters["turn_us"] = ours * 1e6 / turns;
  state.counters["ring_us"] = ring * 1e6 / turns;
  state.counters["ratio"] = ours / ring;
}

BENCHMARK(turn_of_threads)->Arg(2)->Arg(4)->Arg(16)->UseManualTime()->Iterations(40);

}  // namespace
}  // namespace simmesh
