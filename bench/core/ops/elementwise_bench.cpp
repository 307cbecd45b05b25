#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <vector>

#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns the limit of the memory: the time of a memcpy that reads and writes as many bytes.
double copy_seconds(std::size_t moved_bytes) {
  std::size_t bytes = moved_bytes / 2;
  static std::vector<char> from(std::size_t(1) << 28, 1), to(std::size_t(1) << 28, 2);
  auto start = std::chrono::steady_clock::now();
  std::memcpy(to.data(), from.data(), bytes);
  double seconds = seconds_since(start);
  benchmark::DoNotOptimize(to.data());
  return seconds;
}

// Op and copy take turns, and the smallest time of each counts. of_bandwidth is their ratio.
template <class Call>
void elementwise(benchmark::State& state, std::int64_t tensors_moved, Call call) {
  std::int64_t count = std::int64_t(1) << 24;
  Tensor a = full({count}, DType::float32, 1.5), b = full({count}, DType::float32, 0.5);
  Tensor out = full({count}, DType::float32, 0.0);
  double best = 1e9, best_copy = 1e9;
  while (state.KeepRunning()) {
    auto start = std::chrono::steady_clock::now();
    call(out, a, b);
    double seconds = seconds_since(start);
    benchmark::DoNotOptimize(out.data());
    best = std::min(best, seconds);
    best_copy = std::min(best_copy, copy_seconds(std::size_t(count * 4 * tensors_moved)));
    state.SetIterationTime(seconds);
  }
  state.counters["of_bandwidth"] = best_copy / best;
}

// Two tensors are read and one is written, into memory that is already allocated.
void add_float32(benchmark::State& state) {
  elementwise(state, 3, [](Tensor& out, const Tensor& a, const Tensor& b) { add_out(out, a, b); });
}
BENCHMARK(add_float32)->UseManualTime()->Iterations(8)->Unit(benchmark::kMillisecond);

void mul_float32(benchmark::State& state) {
  elementwise(state, 3, [](Tensor& out, const Tensor& a, const Tensor& b) { mul_out(out, a, b); });
}
BENCHMARK(mul_float32)->UseManualTime()->Iterations(8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
