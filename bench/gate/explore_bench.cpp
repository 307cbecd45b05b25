#include <benchmark/benchmark.h>
#include <filesystem>

#include "core/check/error.h"
#include "gate/explore/explore_gate.h"

namespace simmesh {
namespace {

// Asked is a gate, and the number of its schedules that a core has to run in a second: 10,000 and
// 6,000 on two cores in a minute.
struct Asked {
  const char* gate;
  double per_second;
};
constexpr Asked asked[] = {{"transformer", 10'000 / 120.0}, {"fsdp_accumulation", 6'000 / 120.0}};

// Times the schedules of a gate on one core, by processor time. The first run, whose results the
// others share, is part of it. `asked` is the figure to hold.
void explore_schedules(benchmark::State& state) {
  const Asked& figure = asked[state.range(0)];
  std::filesystem::path path =
      std::filesystem::path(SIMMESH_SOURCE_DIR) / "examples/gates" / figure.gate;
  GateFile gate = read_gate(path.replace_extension(".toml").string());
  ExploreRequest request{
      .schedules = 200, .takes_certificate = false, .reuses_results = state.range(1) != 0};
  while (state.KeepRunning()) {
    GateExploration found = explore_gate(gate, {}, request);
    if (!found.ok()) raise(ErrorKind::runtime_error, "bench/explore", "{}", found.failure);
  }
  auto schedules = double(state.iterations()) * double(request.schedules);
  state.SetLabel(figure.gate);
  state.counters["schedules_per_s"] = benchmark::Counter(schedules, benchmark::Counter::kIsRate);
  state.counters["asked"] = figure.per_second;
}
BENCHMARK(explore_schedules)
    ->ArgNames({"gate", "reuse"})
    ->ArgsProduct({{0, 1}, {1, 0}})
    ->Iterations(1)
    ->Repetitions(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
