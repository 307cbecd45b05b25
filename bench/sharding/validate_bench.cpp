#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sharding/validate/validate.h"

// Counts the combinations of placements that the validator judges in a second on one core, and
// prints beside it how many PyTorch's own validator judges in a second of processor time. Ours are
// judged on several sizes and numbers of ranks with bits compared, PyTorch's on even sizes and two
// ranks with a tolerance.
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
    combinations += validate({.ops = ops, .options = options}).combination_count();
  state.counters["combinations/s"] =
      benchmark::Counter(double(combinations), benchmark::Counter::kIsRate);
  state.counters["peer/s"] = peer_combinations_per_second();
}

void register_validation() {
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
