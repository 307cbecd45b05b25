#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>

#include "core/engine/world.h"
#include "sharding/dtensor/dtensor.h"

// Times one redistribution of a 512x16 float32 tensor by all ranks of a world, with the plan in the
// cache. The fastest of several batches counts, as for the peer. Rank 0 takes the time: none of its
// redistributions ends before all ranks have taken part.
namespace simmesh {
namespace {

void redistribute(benchmark::State& state, const Placement& from, const Placement& to) {
  constexpr int batches = 16;
  auto ranks = state.range(0);
  std::int64_t repeats = std::max<std::int64_t>(4, 1024 / ranks);
  World world({.ranks = std::size_t(ranks)});
  while (state.KeepRunning()) {
    double least = 1e9;
    Outcome outcome = world.run([&](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({ranks}, {"dp"});
      DTensorSpec spec{.groups = std::make_shared<MeshGroups>(mesh),
                       .sharding = {{from}, {}},
                       .shape = {512, 16}};
      DTensor source(spec, zeros(spec.local_shape(), DType::float32));
      source.redistribute_local({to});
      for (int batch = 0; batch < batches; ++batch) {
        auto start = std::chrono::steady_clock::now();
        for (std::int64_t i = 0; i < repeats; ++i)
          benchmark::DoNotOptimize(source.redistribute_local({to}).to_local());
        std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (rank.id() == 0) least = std::min(least, taken.count());
      }
    });
    if (!outcome.ok()) state.SkipWithError(report(outcome).c_str());
    state.SetIterationTime(least / double(repeats));
  }
}

void register_all() {
  struct Work {
    const char* name;
    Placement from, to;
  };
  const Work works[] = {{"S0_R", Shard(0), Replicate()},
                        {"S0_S1", Shard(0), Shard(1)},
                        {"Psum_R", Partial(), Replicate()}};
  for (const Work& work : works)
    benchmark::RegisterBenchmark(
        fmt::format("redistribute/{}", work.name).c_str(),
        [work](benchmark::State& state) { redistribute(state, work.from, work.to); })
        ->ArgName("world")
        ->Arg(4)
        ->Arg(8)
        ->Arg(64)
        ->Arg(512)
        ->UseManualTime()
        ->Iterations(5)
        ->Repetitions(5)
        ->DisplayAggregatesOnly()
        ->Unit(benchmark::kMicrosecond);
}

const bool registered = (register_all(), true);

}  // namespace
}  // namespace simmesh
