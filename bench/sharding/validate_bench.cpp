#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/ops/registry/registry.h"
#include "sharding/validate/validate.h"

// Counts the combinations of placements that the validator judges in a second on one core, and
// prints beside it how many PyTorch's own validator judges in a second of processor time. Ours are
// judged on several sizes and numbers of ranks with bits compared, PyTorch's on even sizes and two
// ranks with a tolerance. validate/all_cores judges all ops on all cores, by wall time, beside the
// rate that is asked for, and lists the ten ops that take the most time.
namespace simmesh {
namespace {

double peer_combinations_per_second() {
  std::ifstream file(SIMMESH_SOURCE_DIR "/tests/cases/pytorch_ops/peer_validator.json");
  auto totals = nlohmann::json::parse(file)["totals"]["full"];
  return double(totals["combinations"]) / double(totals["cpu_seconds"]);
}

void validate_ops(benchmark::State& state, const std::vector<std::string>& ops,
                  ValidateOptions options) {
  std::uint64_t combinations = 0;
  for ([[maybe_unused]] auto _ : state)
    combinations += validate({.ops = ops, .options = options}).counts().combinations;
  state.counters["combinations/s"] =
      benchmark::Counter(double(combinations), benchmark::Counter::kIsRate);
  state.counters["peer/s"] = peer_combinations_per_second();
}

constexpr double asked_combinations_per_second = 500'000;
constexpr std::size_t slowest_count = 10;

struct OpTime {
  std::string op;
  double seconds = 0;
  std::uint64_t combinations = 0;
};

std::string slowest_ops() {
  std::vector<OpTime> times;
  for (const Op* op : all_ops()) {
    auto begin = std::chrono::steady_clock::now();
    std::uint64_t combinations = validate({.ops = {op->name}}).counts().combinations;
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    times.push_back({op->name, passed.count(), combinations});
  }
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  times.resize(std::min(times.size(), slowest_count));
  std::string text;
  for (const OpTime& time : times)
    text +=
        fmt::format("{}{}: {:.0f} ms, {:.0f}k/s", text.empty() ? "slowest on one core: " : "; ",
                    time.op, time.seconds * 1e3, double(time.combinations) / time.seconds / 1e3);
  return text;
}

void validate_on_all_cores(benchmark::State& state) {
  std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::uint64_t combinations = 0;
  for ([[maybe_unused]] auto _ : state)
    combinations += validate({.jobs = cores}).counts().combinations;
  state.counters["combinations/s"] =
      benchmark::Counter(double(combinations), benchmark::Counter::kIsRate);
  state.counters["asked/s"] = asked_combinations_per_second;
  state.SetLabel(slowest_ops());
}

void register_validation() {
  benchmark::RegisterBenchmark("validate/all_cores", validate_on_all_cores)
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1)
      ->UseRealTime();
  const std::pair<const char*, std::vector<std::string>> works[] = {
      {"pointwise", {"add", "mul", "exp", "where"}},
      {"matrices", {"mm", "bmm", "addmm"}},
      {"reductions", {"sum", "mean", "amax", "cumsum"}},
      {"all", {}}};
  for (const auto& [name, ops] : works) {
    benchmark::RegisterBenchmark(
        fmt::format("validate/{}", name).c_str(),
        [ops = ops](benchmark::State& state) { validate_ops(state, ops, {}); })
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(fmt::format("validate_claimed/{}", name).c_str(),
                                 [ops = ops](benchmark::State& state) {
                                   validate_ops(state, ops, {.finds_missing = false});
                                 })
        ->Unit(benchmark::kMillisecond);
  }
}

const bool validation_registered = (register_validation(), true);

}  // namespace
}  // namespace simmesh
