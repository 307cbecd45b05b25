#include "bench/gate_process.h"

namespace simmesh {
namespace {

// A test of three steps of ZeRO stage 3 on two ranks.
void zero3_three_steps(benchmark::State& state) {
  time_gate_process(state, SIMMESH_SOURCE_DIR "/bench/zero/three_steps.toml");
}
BENCHMARK(zero3_three_steps)
    ->ArgName("ranks")
    ->Arg(2)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
