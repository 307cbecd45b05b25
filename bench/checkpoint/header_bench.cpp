#include <benchmark/benchmark.h>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors/safetensors_file.h"

namespace simmesh::checkpoint {
namespace {

constexpr int tensor_count = 100'000;

SafetensorsLayout large_layout() {
  std::vector<SafetensorsEntry> entries;
  for (int i = 0; i < tensor_count; ++i)
    entries.push_back(
        {fmt::format("model.layers.{}.mlp.weight", i), StoredDType::bf16, {4, 8}, 0, 0});
  return lay_out_safetensors(entries);
}

template <class Body>
double seconds_of(const Body& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Reads and checks the header of 100,000 tensors, beside parsing its JSON into a tree and doing
// nothing with it; "ratio" is at most 2.
void parse_header(benchmark::State& state) {
  SafetensorsLayout layout = large_layout();
  std::int64_t data_bytes = layout.header.tensors.back().end;
  double ours = 0, json = 0;
  for ([[maybe_unused]] auto _ : state) {
    ours += seconds_of([&] {
      benchmark::DoNotOptimize(parse_safetensors_header(layout.text, data_bytes).tensors.size());
    });
    json +=
        seconds_of([&] { benchmark::DoNotOptimize(nlohmann::json::parse(layout.text).size()); });
  }
  state.counters["ratio"] = ours / json;
  state.counters["limit"] = 2;
}
BENCHMARK(parse_header)->Name("safetensors_header/100000_tensors")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace simmesh::checkpoint
