#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <vector>

#include "collectives/collectives.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double all_reduces_seconds(World& world, int repeats) {
  auto start = std::chrono::steady_clock::now();
  world.run([=](Rank&) {
    ProcessGroup group = ProcessGroup::world();
    Tensor tensor = zeros({256}, DType::float32);
    for (int i = 0; i < repeats; ++i)
      benchmark::DoNotOptimize(all_reduce(tensor, ReduceOp::sum, group));
  });
  return seconds_since(start);
}

// Times the difference between a long and a short run, and takes the smallest of several, as for
// the peer. So neither figure includes the cost of starting a run.
void all_reduce_256_floats(benchmark::State& state) {
  constexpr int pairs = 8;
  int ranks = int(state.range(0));
  int repeats = std::max(16, (1 << 15) / ranks);
  World world({.ranks = std::size_t(ranks)});
  while (state.KeepRunning()) {
    double brief = 1e9, extended = 1e9;
    for (int pair = 0; pair < pairs; ++pair) {
      brief = std::min(brief, all_reduces_seconds(world, repeats));
      extended = std::min(extended, all_reduces_seconds(world, 3 * repeats));
    }
    state.SetIterationTime((extended - brief) / (2 * repeats));
  }
}
BENCHMARK(all_reduce_256_floats)
    ->Name("all_reduce_256_floats")
    ->ArgName("ranks")
    ->Arg(8)
    ->Arg(64)
    ->Arg(1024)
    ->UseManualTime()
    ->Iterations(5)
    ->Repetitions(5)
    ->DisplayAggregatesOnly()
    ->Unit(benchmark::kMicrosecond);

constexpr std::int64_t operand_bytes = std::int64_t(16) << 20;
constexpr int ranks = 8;

// The limit is the time to read every input once and write the output once, at the speed of one
// memcpy of the same bytes.
double copy_seconds(std::size_t bytes) {
  static std::vector<char> from(std::size_t(1) << 28, 1), to(std::size_t(1) << 28, 2);
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), bytes);
    best = std::min(best, seconds_since(start));
  }
  benchmark::DoNotOptimize(to.data());
  return best;
}

template <class Call>
void large(benchmark::State& state, std::size_t moved_bytes, Call call) {
  World world({.ranks = ranks});
  double best = 1e9;
  while (state.KeepRunning()) {
    double seconds = 0;
    world.run([&](Rank& rank) {
      ProcessGroup group = ProcessGroup::world();
      Tensor tensor = full({operand_bytes / 4}, DType::float32, 1 + rank.id());
      for (int i = 0; i < 4; ++i) {
        barrier(group);
        auto start = std::chrono::steady_clock::now();
        benchmark::DoNotOptimize(call(tensor, group));
        barrier(group);
        if (rank.id() == 0 && i > 0)
          seconds = seconds == 0 ? seconds_since(start) : std::min(seconds, seconds_since(start));
      }
    });
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  // memcpy reads and writes each byte, so the limit is the time to copy half of the moved bytes.
  state.counters["of_limit"] = copy_seconds(moved_bytes / 2) / best;
}

void all_reduce_large(benchmark::State& state) {
  large(state, std::size_t(operand_bytes) * (ranks + 1),
        [](const Tensor& tensor, const ProcessGroup& group) {
          return all_reduce(tensor, ReduceOp::sum, group);
        });
}
void all_gather_large(benchmark::State& state) {
  large(state, std::size_t(operand_bytes) * 2 * ranks,
        [](const Tensor& tensor, const ProcessGroup& group) {
          return all_gather(tensor, {.dim = 0}, group);
        });
}
BENCHMARK(all_reduce_large)
    ->Name("all_reduce/8x16MiB")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(all_gather_large)
    ->Name("all_gather/8x16MiB")
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
