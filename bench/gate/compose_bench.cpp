#include <benchmark/benchmark.h>
#include <filesystem>

#include "core/check/error.h"
#include "gate/compose/compose.h"

namespace simmesh {
namespace {

// 2,000 layouts of both models in five minutes on two cores.
constexpr double asked_per_second = 2'000 / 600.0;

// Times layouts of 2 to 16 ranks on one core, by processor time, each compared with one device.
// They are spread evenly over all of the model's, so their mean cost is that of a larger sample.
void compose_layouts(benchmark::State& state) {
  const char* models[] = {"transformer", "moe"};
  const char* model = models[state.range(0)];
  std::filesystem::path path =
      std::filesystem::path(SIMMESH_SOURCE_DIR) / "examples/compose" / model;
  GateFile gate = read_compose_model(path.replace_extension(".toml").string());
  ComposeRequest request{.sample = 60};
  std::int64_t layouts = 0;
  while (state.KeepRunning()) {
    Composition found = compose(gate, {}, request);
    if (found.failed() > 0)
      raise(ErrorKind::runtime_error, "bench/compose", "{} layouts aren't one device",
            found.failed());
    layouts += found.passed();
  }
  state.SetLabel(model);
  state.counters["layouts_per_s"] =
      benchmark::Counter(double(layouts), benchmark::Counter::kIsRate);
  state.counters["asked"] = asked_per_second;
}
BENCHMARK(compose_layouts)
    ->ArgName("model")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
