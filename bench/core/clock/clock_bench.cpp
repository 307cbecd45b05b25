#include <benchmark/benchmark.h>

#include "core/engine/world.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {
namespace {

// Times a chain of additions on one rank without a device (0) and with one (1). The difference is
// the cost of the clock per operation.
void BM_OperationsOnADevice(benchmark::State& state) {
  constexpr int operations = 1000;
  WorldOptions options;
  if (state.range(0) == 1) options.device = DeviceModel{};
  World world(options);
  while (state.KeepRunning()) {
    Outcome outcome = world.run([](Rank&) {
      Tensor x = full({64}, DType::float32, 1);
      for (int i = 0; i < operations; ++i) x = add(x, x);
      benchmark::DoNotOptimize(x.data());
    });
    if (!outcome.ok()) state.SkipWithError("the run failed");
  }
  state.SetItemsProcessed(state.iterations() * operations);
}
BENCHMARK(BM_OperationsOnADevice)->Arg(0)->Arg(1);

}  // namespace
}  // namespace simmesh
