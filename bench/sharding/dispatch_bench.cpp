#include <algorithm>
#include <benchmark/benchmark.h>
#include <ctime>

#include "core/engine/world.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "sharding/dtensor/dtensor.h"

// Times one op on distributed float32 tensors by all ranks of a world: with the choice of
// placements in the cache, and with a new choice each time. The fastest of several batches counts,
// and time is the processor's, as for the peer: the work is one thread that never waits.
namespace simmesh {
namespace {

using DispatchStep = std::function<void(const Tensor& x, const Tensor& y)>;

struct Work {
  const char* name;
  Placement x, y;
  DispatchStep step;
};

DTensor made(const std::shared_ptr<MeshGroups>& groups, const Placement& placement,
             std::int64_t rows, std::int64_t columns) {
  DTensorSpec spec{.groups = groups, .sharding = {{placement}, {}}, .shape = {rows, columns}};
  return DTensor(spec, zeros(spec.local_shape(), DType::float32));
}

double processor_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

// Ranks run one after another, so the time of all of them is that of the whole batch.
// Each batch has a World of its own, whose cache is empty.
double least_seconds(benchmark::State& state, const std::function<void()>& body, std::int64_t ranks,
                     int batches) {
  double least = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    World world({.ranks = std::size_t(ranks)});
    double start = 0;
    Outcome outcome = world.run([&](Rank& rank) {
      if (rank.id() == 0) start = processor_seconds();
      body();
    });
    double taken = processor_seconds() - start;
    if (!outcome.ok()) state.SkipWithError(report(outcome).c_str());
    least = std::min(least, taken);
  }
  return least;
}

void hit(benchmark::State& state, const Work& work) {
  constexpr std::int64_t repeats = 2000;
  auto ranks = state.range(0);
  while (state.KeepRunning()) {
    double least = least_seconds(
        state,
        [&] {
          NoGrad mode;
          auto groups = std::make_shared<MeshGroups>(init_device_mesh({ranks}, {"dp"}));
          Tensor x = made(groups, work.x, 16, 16), y = made(groups, work.y, 16, 16);
          for (std::int64_t i = 0; i < repeats; ++i) work.step(x, y);
        },
        ranks, 8);
    state.SetIterationTime(least / double(repeats));
  }
}

// Each call has a size that no call of its World had before.
void miss(benchmark::State& state) {
  constexpr std::int64_t repeats = 200;
  auto ranks = state.range(0);
  while (state.KeepRunning()) {
    double least = least_seconds(
        state,
        [&] {
          NoGrad mode;
          auto groups = std::make_shared<MeshGroups>(init_device_mesh({ranks}, {"dp"}));
          for (std::int64_t i = 0; i < repeats; ++i) {
            Tensor x = made(groups, Shard(0), 16, 1 + i);
            benchmark::DoNotOptimize(add(x, x));
          }
        },
        ranks, 8);
    state.SetIterationTime(least / double(repeats));
  }
}

void register_dispatch() {
  const Work works[] = {
      {"add_S0_S0", Shard(0), Shard(0),
       [](const Tensor& x, const Tensor& y) { benchmark::DoNotOptimize(add(x, y)); }},
      {"mm_S0_R", Shard(0), Replicate(),
       [](const Tensor& x, const Tensor& y) { benchmark::DoNotOptimize(mm(x, y)); }},
      {"mm_S0_S0", Shard(0), Shard(0),
       [](const Tensor& x, const Tensor& y) { benchmark::DoNotOptimize(mm(x, y)); }}};
  for (const Work& work : works)
    benchmark::RegisterBenchmark(fmt::format("dispatch/{}", work.name).c_str(),
                                 [work](benchmark::State& state) { hit(state, work); })
        ->ArgName("world")
        ->Arg(8)
        ->UseManualTime()
        ->Iterations(5)
        ->Repetitions(5)
        ->DisplayAggregatesOnly()
        ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("dispatch_cold/add_S0_S0", miss)
      ->ArgName("world")
      ->Arg(8)
      ->UseManualTime()
      ->Iterations(5)
      ->Repetitions(5)
      ->DisplayAggregatesOnly()
      ->Unit(benchmark::kMicrosecond);
}

const bool dispatch_registered = (register_dispatch(), true);

}  // namespace
}  // namespace simmesh
