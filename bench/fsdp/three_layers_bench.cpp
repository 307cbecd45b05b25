#include "bench/gate_process.h"

namespace simmesh {
namespace {

// A test of three sharded layers on four ranks.
void fsdp_three_layers(benchmark::State& state) {
  time_gate_process(state, SIMMESH_SOURCE_DIR "/bench/fsdp/three_layers.toml");
}
BENCHMARK(fsdp_three_layers)
    ->ArgName("ranks")
    ->Arg(4)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
