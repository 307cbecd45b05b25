#include "gate/report.h"

#include <fmt/format.h>

#include "core/check/counted.h"
#include "core/check/join_text.h"
#include "core/check/json_value.h"
#include "core/check/one_line.h"
#include "zero/fetch/pretty.h"

namespace simmesh {

namespace {

struct ZeroMemoryColumn {
  const char* name;
  std::int64_t zero::MemoryUse::*bytes;
};

constexpr ZeroMemoryColumn zero_memory_columns[] = {
    {"shards", &zero::MemoryUse::shards},   {"master", &zero::MemoryUse::master},
    {"moments", &zero::MemoryUse::moments}, {"gradients", &zero::MemoryUse::gradients},
    {"buckets", &zero::MemoryUse::buckets}, {"persistent", &zero::MemoryUse::persistent},
    {"live", &zero::MemoryUse::live},
};

std::string collectives_text(const GateResult& result) {
  std::string text;
  for (const auto& [name, calls] : result.collectives)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", calls, name);
  if (text.empty()) return "none";
  return text + (result.collectives_of_first ? " on rank 0" : " on each rank");
}

// Returns a table of the bytes that the engine held in the first and in the last step.
std::string zero_memory_text(const GateResult& result) {
  const auto& rows = result.zero_memory;
  if (rows.empty()) return "";
  auto step_of = [](const std::string& when) { return when.substr(0, when.rfind(' ')); };
  std::string first = step_of(rows.front().first), last = step_of(rows.back().first);
  std::string text = fmt::format("bytes of rank 0 with ZeRO:\n  {:<18}", "");
  for (const ZeroMemoryColumn& column : zero_memory_columns)
    text += fmt::format(" {:>14}", column.name);
  for (const auto& [when, memory] : rows) {
    if (step_of(when) != first && step_of(when) != last) continue;
    text += fmt::format("\n  {:<18}", when);
    for (const ZeroMemoryColumn& column : zero_memory_columns)
      text += fmt::format(" {:>14}", zero::pretty_count(memory.*column.bytes));
  }
  return text + "\n";
}

std::string gate_text(const GateResult& result) {
  std::string text = fmt::format("gate {}{}{}\n", result.file, result.title.empty() ? "" : ": ",
                                 one_line(result.title));
  for (const GateCheck& check : result.checks)
    text += fmt::format("{} {}: expected {}, got {}\n", check.passed ? "pass" : "FAIL", check.name,
                        check.expected, check.actual);
  if (!result.failure.empty()) text += result.failure + "\n";
  if (!result.losses.empty()) text += fmt::format("losses {}\n", join_text(result.losses, ", "));
  if (result.shapes_of_ranks)
    text += fmt::format("shapes only, {} {} run\n", counted(*result.shapes_of_ranks, "rank"),
                        *result.shapes_of_ranks == 1 ? "was" : "were");
  else
    text += fmt::format("data hash {:016x}\n", result.data_hash);
  text += fmt::format("schedule hash {:016x}\n", result.schedule_hash);
  text += fmt::format("peak {} bytes per rank", result.peak_bytes);
  if (result.physical_peak_bytes)
    text += fmt::format(", {} physical bytes", *result.physical_peak_bytes);
  text += "\ncollectives: " + collectives_text(result) + "\n";
  if (result.gathers)
    text += fmt::format("all-gathers of parameters: {} on each rank, {} of them unused\n",
                        result.gathers->started(), result.gathers->unused());
  text += zero_memory_text(result);
  if (result.device)
    text +=
        fmt::format("device: {:.1f} us, communication exposed for {:.1f} us, {} bytes reserved\n",
                    result.device->makespan_us, result.device->exposed_communication_us,
                    result.device->reserved_bytes);
  if (!result.reproduce.empty()) text += fmt::format("reproduce: {}\n", result.reproduce);
  return text;
}

JsonValue gate_json(const GateResult& result) {
  JsonValue::List checks;
  for (const GateCheck& check : result.checks)
    checks.push_back(JsonValue::object({{"name", check.name},
                                        {"passed", check.passed},
                                        {"expected", check.expected},
                                        {"got", check.actual}}));
  JsonValue gate = JsonValue::object({{"file", result.file},
                                      {"title", result.title},
                                      {"checks", std::move(checks)},
                                      {"losses", result.losses}});
  if (result.shapes_of_ranks)
    gate.set("shapes_of_ranks", *result.shapes_of_ranks);
  else
    gate.set("data_hash", fmt::format("{:016x}", result.data_hash));
  gate.set("schedule_hash", fmt::format("{:016x}", result.schedule_hash));
  gate.set("peak_bytes", result.peak_bytes);
  if (result.physical_peak_bytes) gate.set("physical_peak_bytes", *result.physical_peak_bytes);
  JsonValue::Object collectives;
  for (const auto& [name, calls] : result.collectives) collectives.emplace_back(name, calls);
  gate.set("collectives", std::move(collectives));
  if (result.gathers)
    gate.set("gathers", JsonValue::object({{"started", result.gathers->started()},
                                           {"unused", result.gathers->unused()}}));
  JsonValue::List zero_memory;
  for (const auto& [when, memory] : result.zero_memory) {
    JsonValue row = JsonValue::object({{"when", when}});
    for (const ZeroMemoryColumn& column : zero_memory_columns)
      row.set(column.name, memory.*column.bytes);
    zero_memory.push_back(std::move(row));
  }
  if (!zero_memory.empty()) gate.set("zero_memory", std::move(zero_memory));
  if (result.device)
    gate.set("device", JsonValue::object(
                           {{"makespan_us", result.device->makespan_us},
                            {"exposed_communication_us", result.device->exposed_communication_us},
                            {"reserved_bytes", result.device->reserved_bytes}}));
  if (!result.failure.empty()) gate.set("failure", result.failure);
  if (!result.reproduce.empty()) gate.set("reproduce", result.reproduce);
  return gate;
}

std::vector<ReportBlock> blocks_of(gsl::span<const GateResult> results) {
  std::vector<ReportBlock> blocks;
  for (const GateResult& result : results) blocks.push_back(gate_block(result));
  return blocks;
}

}  // namespace

ReportBlock gate_block(const GateResult& result) {
  return {.text = gate_text(result),
          .json = gate_json(result).text_utf8(),
          .counts = {{"passed", std::uint64_t(result.passed())},
                     {"failed", std::uint64_t(result.failed())}}};
}

std::string to_text(gsl::span<const GateResult> results, GateTextOptions options) {
  return text_of_gates(blocks_of(results), options);
}

std::string text_of_gates(gsl::span<const ReportBlock> gates, GateTextOptions options) {
  std::string text;
  if (!options.quiet)
    for (const ReportBlock& gate : gates) text += gate.text;
  return text + fmt::format("{} passed, {} failed\n", count_over(gates, "passed"),
                            count_over(gates, "failed"));
}

std::string to_json(gsl::span<const GateResult> results) {
  return json_of_gates(blocks_of(results));
}

std::string json_of_gates(gsl::span<const ReportBlock> gates) {
  return fmt::format("{{\"passed\":{},\"failed\":{},\"gates\":[{}]}}\n",
                     count_over(gates, "passed"), count_over(gates, "failed"), join_json(gates));
}

}  // namespace simmesh
