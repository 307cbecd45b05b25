#include <benchmark/benchmark.h>

#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {
namespace {

// Times a call without its kernel: a tensor of four elements, without the tape and recorded on it.
void call_small_mul(benchmark::State& state) {
  Tensor a = full({4}, DType::float32, 1.5), b = full({4}, DType::float32, 0.5);
  while (state.KeepRunning()) benchmark::DoNotOptimize(mul(a, b));
}
BENCHMARK(call_small_mul);

void record_small_mul(benchmark::State& state) {
  Tensor a = full({4}, DType::float32, 1.5), b = full({4}, DType::float32, 0.5);
  set_requires_grad(a);
  while (state.KeepRunning()) benchmark::DoNotOptimize(mul(a, b));
}
BENCHMARK(record_small_mul);

// Views go through the methods of Tensor, which check for an attachment.
void call_small_transpose(benchmark::State& state) {
  Tensor a = full({2, 2}, DType::float32, 1.5);
  while (state.KeepRunning()) benchmark::DoNotOptimize(a.transpose(0, 1));
}
BENCHMARK(call_small_transpose);

void record_small_transpose(benchmark::State& state) {
  Tensor a = full({2, 2}, DType::float32, 1.5);
  set_requires_grad(a);
  while (state.KeepRunning()) benchmark::DoNotOptimize(a.transpose(0, 1));
}
BENCHMARK(record_small_transpose);

}  // namespace
}  // namespace simmesh
