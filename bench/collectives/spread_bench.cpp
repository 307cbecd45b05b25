#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <chrono>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/collectives.h"
#include "core/engine/spread/socket_processes.h"
#include "core/engine/spread/world_spread.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"

// Compares an all-reduce of 64 ranks over several processes with one in a process; the counter
// "ratio" is the first over the second. Noise only adds time, so the two take turns and the
// smallest time of each counts. Each measurement has processes of its own, since a benchmark stays
// one.
namespace simmesh {
namespace {

constexpr int all_reduces = 20;

double seconds_of_all_reduces(std::size_t ranks, std::int64_t elements) {
  World world({.ranks = ranks});
  auto run = [&](int count) {
    auto start = std::chrono::steady_clock::now();
    world.run([&](Rank& rank) {
      Tensor x = formula(Dims{elements}, {.seed = rank.id(), .dtype = DType::float32});
      for (int i = 0; i < count; ++i) all_reduce(x, ReduceOp::sum, ProcessGroup::world());
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double start = run(1);
  return std::max(run(all_reduces + 1) - start, 0.0) / all_reduces;
}

// Measures in processes of their own, and returns what process 0 has measured.
double seconds_spread(int processes, std::size_t ranks, std::int64_t elements) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return 0;
  pid_t child = ::fork();
  if (child == 0) {
    std::unique_ptr<SocketProcesses> all = SocketProcesses::fork(processes);
    WorldSpread spread(*all);
    SpreadScope scope(spread);
    double seconds = seconds_of_all_reduces(ranks, elements);
    bool is_written =
        all->number() > 0 || write(ends[1], &seconds, sizeof seconds) == ssize_t(sizeof seconds);
    std::_Exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  double seconds = 0;
  if (read(ends[0], &seconds, sizeof seconds) != ssize_t(sizeof seconds)) seconds = 0;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return seconds;
}

void all_reduce_over_processes(benchmark::State& state) {
  int processes = int(state.range(0));
  std::int64_t elements = state.range(1);
  double spread = 1e9, alone = 1e9;
  while (state.KeepRunning()) {
    double seconds = seconds_spread(processes, 64, elements);
    spread = std::min(spread, seconds);
    alone = std::min(alone, seconds_of_all_reduces(64, elements));
    state.SetIterationTime(seconds);
  }
  state.counters["spread_us"] = spread * 1e6;
  state.counters["one_process_us"] = alone * 1e6;
  state.counters["ratio"] = spread / alone;
}
BENCHMARK(all_reduce_over_processes)
    ->ArgNames({"processes", "elements"})
    ->ArgsProduct({{1, 2, 4}, {16, 4096, 262144}})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace simmesh
