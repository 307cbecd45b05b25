#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <functional>

#include "bench/core/arithmetic/eigen_product.h"
#include "core/arithmetic/compute.h"
#include "core/arithmetic/functions.h"
#include "core/arithmetic/products/carried_product.h"
#include "core/arithmetic/products/exact_product.h"
#include "core/arithmetic/products/product.h"
#include "core/tensor/formula.h"

// Each row measures our function and its reference in turns, and gives their ratio.
namespace simmesh {
namespace {

double seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Takes the best of several turns, the one that other programs on the machine disturbed least.
void compare(benchmark::State& state, const std::function<void()>& ours,
             const std::function<void()>& reference, const char* ratio_name) {
  double best = 1e9, best_reference = 1e9;
  while (state.KeepRunning()) {
    double own = seconds(ours);
    best = std::min(best, own);
    best_reference = std::min(best_reference, seconds(reference));
    state.SetIterationTime(own);
  }
  state.counters["best_us"] = best * 1e6;
  state.counters[ratio_name] = std::strcmp(ratio_name, "x_reference_speed") == 0
                                   ? best_reference / best
                                   : best / best_reference;
}

struct Operands {
  Tensor a, b, result;
  Product product;

  Operands(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool transposed_b) {
    Dims a_shape = {rows, depth}, b_shape = {depth, columns};
    a = formula(a_shape, {.rule = Rule::wide, .seed = 1, .dtype = DType::float32});
    b = formula(b_shape, {.rule = Rule::wide, .seed = 2, .dtype = DType::float32});
    result = empty({rows, columns}, DType::float32);
    product = {
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .a = {a.data(), DType::float32, depth, 1},
        .b = {b.data(), DType::float32, transposed_b ? 1 : columns, transposed_b ? depth : 1},
        .result = result.mutable_data(),
        .result_row_stride = columns};
  }
};

void register_products() {
  constexpr std::int64_t sizes[][3] = {{128, 128, 128},    {256, 256, 256},    {512, 512, 512},
                                       {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 256, 256},
                                       {256, 4096, 256},   {8, 1024, 256},     {2048, 64, 2048}};
  for (const auto& size : sizes)
    for (bool transposed_b : {false, true}) {
      std::int64_t m = size[0], n = size[1], k = size[2];
      auto name = fmt::format("{}x{}x{}{}", m, n, k, transposed_b ? "_bt" : "");
      int turns = m * n * k < 100'000'000 ? 50 : 5;
      auto add = [&](const char* what, auto run) {
        benchmark::RegisterBenchmark(fmt::format("{}/{}", what, name).c_str(),
                                     [=](benchmark::State& state) {
                                       Operands operands(m, n, k, transposed_b);
                                       run(state, operands);
                                     })
            ->UseManualTime()
            ->Iterations(turns)
            ->Unit(benchmark::kMicrosecond);
      };
      add("canonical_against_eigen", [](benchmark::State& state, Operands& o) {
        compare(
            state, [&] { canonical_product(o.product); }, [&] { eigen_product(o.product); },
            "x_reference_speed");
      });
      add("exact_against_canonical", [](benchmark::State& state, Operands& o) {
        compare(
            state, [&] { exact_product(o.product); }, [&] { canonical_product(o.product); },
            "x_reference_time");
      });
      add("carried_against_canonical", [](benchmark::State& state, Operands& o) {
        compare(
            state, [&] { carried_product(o.product); }, [&] { canonical_product(o.product); },
            "x_reference_time");
      });
    }
}

void register_reductions() {
  for (std::int64_t bytes : {32 << 10, 1 << 20})
    benchmark::RegisterBenchmark(
        fmt::format("exact_all_reduce_against_canonical/8x{}KiB", bytes >> 10).c_str(),
        [bytes](benchmark::State& state) {
          std::vector<Tensor> tensors;
          std::vector<const std::byte*> operands;
          std::int64_t count = bytes / 4;
          Dims shape = {count};
          for (std::uint64_t rank = 0; rank < 8; ++rank) {
            tensors.push_back(
                formula(shape, {.rule = Rule::wide, .seed = rank, .dtype = DType::float32}));
            operands.push_back(tensors.back().data());
          }
          Tensor result = empty(shape, DType::float32);
          Reduction reduction{
              .operands = operands, .count = count, .result = result.mutable_data()};
          compare(
              state, [&] { compute(Arithmetic::exact(), reduction); },
              [&] { compute(Arithmetic::canonical(), reduction); }, "x_reference_time");
        })
        ->UseManualTime()
        ->Iterations(50)
        ->Unit(benchmark::kMicrosecond);
}

void register_functions() {
  for (Function function : all_functions)
    benchmark::RegisterBenchmark(
        fmt::format("function_against_copy/{}", to_string(function)).c_str(),
        [function](benchmark::State& state) {
          Dims shape = {1 << 20};
          Tensor x = formula(shape, {.rule = Rule::wide, .seed = 3, .dtype = DType::float32});
          Tensor y = empty(shape, DType::float32);
          std::byte* out = y.mutable_data();
          compare(
              state,
              [&] {
                apply_function({.function = function,
                                .dtype = DType::float32,
                                .operand = x.data(),
                                .result = out,
                                .count = 1 << 20});
              },
              [&] { std::memcpy(out, x.data(), x.bytes()); }, "x_reference_time");
        })
        ->UseManualTime()
        ->Iterations(20)
        ->Unit(benchmark::kMicrosecond);
}

const bool registered = (register_products(), register_reductions(), register_functions(), true);

}  // namespace
}  // namespace simmesh
