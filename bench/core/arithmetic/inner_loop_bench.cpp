#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <functional>
#include <vector>

#include "core/kernels/instruction_set.h"
#include "core/kernels/kernels.h"

// Times the inner loops of exact products alone, on operands in the first-level cache, against the
// inner loop of canonical products. Exact products can't be faster than that; the rest of their
// cost is packing, placing digits, and memory.
namespace simmesh {
namespace {

constexpr std::int64_t depth = 256;
constexpr std::int64_t elements_max = depth * 64;

double seconds_a_term(std::int64_t terms, const std::function<void()>& run) {
  constexpr int tries = 200, runs = 50;
  double best = 1e9;
  for (int i = 0; i < tries; ++i) {
    auto start = std::chrono::steady_clock::now();
    for (int j = 0; j < runs; ++j) run();
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / runs);
  }
  return best / double(terms);
}

struct TileOperands {
  std::vector<float> a = std::vector<float>(elements_max), b = a, sums = a;
  std::vector<double> wide_a = std::vector<double>(elements_max, 0x1.8p52), wide_b = wide_a,
                      wide_sums = wide_a;
  std::vector<std::int64_t> low = std::vector<std::int64_t>(elements_max), high = low, lines = low;
  std::vector<int> shifts = std::vector<int>(64);
};

double canonical(const Kernels& kernels, TileOperands& o, int rows) {
  const TileSize& tile = kernels.float_tile;
  std::int64_t width = std::int64_t(tile.vectors) * tile.lanes;
  return seconds_a_term(depth * rows * width, [&] {
    kernels.chain_float({.depth = depth,
                         .a = o.a.data(),
                         .a_row_stride = 1,
                         .a_depth_stride = tile.rows,
                         .b = o.b.data(),
                         .b_depth_stride = width,
                         .rows = rows,
                         .vectors = tile.vectors},
                        o.sums.data(), width, true);
  });
}

double exact(const Kernels& kernels, TileOperands& o, int rows) {
  const TileSize& tile = kernels.wide_tile;
  std::int64_t width = std::int64_t(tile.vectors) * tile.lanes;
  return seconds_a_term(depth * rows * width, [&] {
    kernels.wide_chain({.depth = depth,
                        .a = o.wide_a.data(),
                        .b = o.b.data(),
                        .b_depth_stride = width,
                        .rows = rows,
                        .vectors = tile.vectors},
                       o.wide_sums.data(), true);
  });
}

double carried(const Kernels& kernels, TileOperands& o, int rows) {
  std::int64_t width = std::int64_t(kernels.wide_tile.vectors) * kernels.wide_tile.lanes;
  SlicedTile tile{.depth = depth,
                  .rows = rows,
                  .a = o.wide_a.data(),
                  .b = o.wide_b.data(),
                  .row_sums = o.lines.data(),
                  .column_sums = o.lines.data(),
                  .shifts = o.shifts.data(),
                  .digit_stride = rows * width};
  return seconds_a_term(depth * rows * width,
                        [&] { kernels.sliced_tile(tile, o.low.data(), o.high.data()); });
}

void inner_loops_against_canonical(benchmark::State& state) {
  const Kernels& kernels = kernels_of(best_instruction_set());
  TileOperands operands;
  constexpr int few_rows = 8, sliced_rows = 7;
  for ([[maybe_unused]] auto _ : state) {
    double whole = canonical(kernels, operands, kernels.float_tile.rows);
    int few = std::min({few_rows, kernels.float_tile.rows, kernels.wide_tile.rows});
    state.counters["exact"] = exact(kernels, operands, kernels.wide_tile.rows) / whole;
    state.counters["exact_few_rows"] =
        exact(kernels, operands, few) / canonical(kernels, operands, few);
#if defined(__x86_64__)
    if (kernels.sliced_tile && __builtin_cpu_supports("avx512ifma"))
      state.counters["carried"] = carried(kernels, operands, sliced_rows) / whole;
#endif
  }
}
BENCHMARK(inner_loops_against_canonical)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh
