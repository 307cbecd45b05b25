#include <benchmark/benchmark.h>
#include <chrono>
#include <functional>
#include <map>

#include "zero/fetch/coordinator.h"

namespace simmesh::zero {
namespace {

// Does nothing: only the decisions are timed.
class NoSink final : public FetchSink {
 public:
  void gather(gsl::span<const ParamId>) override {}
  void wait(ParamId) override {}
  void release(ParamId) override {}
  void agree(std::string_view, gsl::span<const std::int64_t>) override {}
};

constexpr ModuleId layers = 2500;

// Returns a chain of layers of a weight and a bias each.
FetchGraph chain() {
  std::vector<FetchParam> params;
  std::vector<FetchModule> modules = {{}};
  for (ModuleId i = 0; i < layers; ++i) {
    for (std::int64_t numel : {1000, 10}) params.push_back({numel, numel / 2});
    modules.push_back({{ParamId(2 * i), ParamId(2 * i + 1)}, {ParamId(2 * i), ParamId(2 * i + 1)}});
  }
  return {std::move(params), std::move(modules)};
}

// Makes 10,000 decisions: what to fetch, prefetch and release around each forward and backward of
// 2,500 layers, under a complete trace.
void iterate(Coordinator& coordinator) {
  coordinator.reset();
  for (ModuleId module = 1; module <= layers; ++module) {
    coordinator.enter(module, Pass::forward);
    coordinator.leave(module, Pass::forward);
  }
  for (ModuleId module = layers; module >= 1; --module) {
    coordinator.enter(module, Pass::backward);
    coordinator.leave(module, Pass::backward);
  }
  coordinator.end_backward();
  coordinator.release_all();
}

double seconds_of(const std::function<void()>& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Finds 10,000 keys in a map of as many, the least cost of a table of decisions.
double look_up(const std::map<std::int64_t, std::int64_t>& table) {
  return seconds_of([&] {
    std::int64_t key = 1, sum = 0;
    for (int i = 0; i < 10'000; ++i) {
      key = key * 7919 % 10'007;
      auto found = table.find(key);
      if (found != table.end()) sum += found->second;
    }
    benchmark::DoNotOptimize(sum);
  });
}

void zero_coordinator_decisions(benchmark::State& state) {
  NoSink sink;
  FetchSettings settings{
      .prefetch_bucket_size = 5000, .max_live_parameters = 20'000, .max_reuse_distance = 2000};
  Coordinator coordinator(chain(), settings, sink);
  std::map<std::int64_t, std::int64_t> table;
  for (std::int64_t i = 0; i < 10'007; ++i) table[i] = i;
  for (int i = 0; i < 3; ++i) iterate(coordinator);
  double decisions = 0, look_ups = 0;
  while (state.KeepRunning()) {
    double seconds = seconds_of([&] { iterate(coordinator); });
    state.SetIterationTime(seconds);
    decisions += seconds;
    look_ups += look_up(table);
  }
  state.SetItemsProcessed(std::int64_t(state.iterations()) * 10'000);
  state.counters["times_map_look_ups"] = decisions / look_ups;
}
BENCHMARK(zero_coordinator_decisions)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace simmesh::zero
