#include "sharding/validate/rule_text.h"

#include <fmt/format.h>

namespace simmesh {

namespace {

std::string entry_text(const std::optional<Placement>& entry) {
  return entry ? placement_text(*entry) : "-";
}

std::string entries_text(const StrategyRow::Entries& entries) {
  std::string text;
  for (const auto& entry : entries)
    text += fmt::format("{}{}", text.empty() ? "" : ",", entry_text(entry));
  return text;
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(DType value) const { return std::string(to_string(value)); }
  std::string operator()(const Dims& value) const { return to_string(DimSpan(value)); }
  std::string operator()(const std::string& value) const { return value; }
};

}  // namespace

std::string placement_text(const Placement& placement) {
  return placement.is_ragged_shard() ? "Ragged" : to_string(placement);
}

std::string rule_text(const StrategyRow& rule) {
  return entries_text(rule.inputs) + " -> " + entries_text(rule.outputs);
}

std::string call_text(const OpSample& sample, const SampleSizes& sizes) {
  std::string text = fmt::format("{}({}", sample.op, sample.inputs);
  bool is_first = true;
  for (const auto& [name, value] : sample.attributes_at(sizes)) {
    text += fmt::format("{}{}={}", is_first ? "; " : ", ", name, std::visit(ValueText(), value));
    is_first = false;
  }
  return text + ")";
}

}  // namespace simmesh
