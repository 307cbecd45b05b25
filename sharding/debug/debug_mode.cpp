#include "sharding/debug/debug_mode.h"

#include <fmt/format.h>

#include "core/check/fold_hash.h"
#include "core/check/join_text.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}{}", to_string(tensor.dtype()), to_string(DimSpan(tensor.shape())));
}

std::string text_of(const Tensor& tensor, const std::optional<Placements>& placements) {
  if (!tensor.is_defined()) return "-";
  if (!placements) return "plain " + type_text(tensor);
  return fmt::format("{}({})", type_text(tensor), to_string(*placements));
}

std::string call_text(const CollectiveCall& call) {
  std::string text = name_of(call.op);
  std::vector<std::string> types;
  for (const Tensor& input : call.inputs)
    if (input.is_defined()) types.push_back(type_text(input));
  return types.empty() ? text : fmt::format("{} of {}", text, join_text(types, ", "));
}

std::uint64_t hash_of(gsl::span<const Tensor> outputs) {
  FoldHash hash;
  for (const Tensor& output : outputs)
    if (output.is_defined()) fold_into(hash, output.local_part());
  return hash.value();
}

}  // namespace

DebugMode::DebugMode()
    : comm_([this](const CollectiveCall& call) { collectives_.push_back(call_text(call)); }),
      scope_([this](const DispatchedOp& op) { see(op); }) {}

DebugMode::DebugMode(nn::Module& model) : DebugMode() {
  tracker_ = std::make_unique<ModuleTracker>(model);
}

void DebugMode::see(const DispatchedOp& op) {
  DebugCall call{.op = op.op.name};
  if (tracker_) call.module = tracker_->where();
  for (std::size_t i = 0; i < op.given.size(); ++i) {
    call.given.push_back(text_of(op.inputs[i], op.given[i]));
    if (op.given[i] && !(op.given[i] == op.used[i]))
      call.redistributed.push_back(
          fmt::format("input {}: {} -> {}", i, to_string(*op.given[i]), to_string(*op.used[i])));
  }
  for (const Tensor& output : op.results)
    call.outputs.push_back(text_of(output, output.is_defined() && output.distribution()
                                               ? std::optional(DTensor::of(output).placements())
                                               : std::nullopt));
  call.collectives = std::move(collectives_);
  collectives_.clear();
  call.hash = hash_of(op.results);
  calls_.push_back(std::move(call));
}

std::string to_string(const DebugCall& call) {
  std::string text = call.module.is_outside ? "" : to_string(call.module) + ": ";
  text += fmt::format("{} of {} -> {} {:016x}\n", call.op, join_text(call.given, ", "),
                      join_text(call.outputs, ", "), call.hash);
  for (const std::string& line : call.redistributed) text += "  " + line + "\n";
  for (const std::string& line : call.collectives) text += "  " + line + "\n";
  return text;
}

std::string to_string(const DebugMode& mode) {
  std::string text;
  for (const DebugCall& call : mode.calls()) text += to_string(call);
  return text;
}

std::string first_difference(const std::vector<DebugCall>& actual,
                             const std::vector<DebugCall>& expected) {
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (actual[i] == expected[i]) continue;
    DebugCall with_hash = actual[i];
    with_hash.hash = expected[i].hash;
    if (with_hash == expected[i])
      return fmt::format("call {} differs in its bits: expected {:016x}, got {}", i,
                         expected[i].hash, to_string(actual[i]));
    return fmt::format("call {} is another one: expected {}got {}", i, to_string(expected[i]),
                       to_string(actual[i]));
  }
  if (actual.size() == expected.size()) return "";
  return fmt::format("expected {} calls, got {}", expected.size(), actual.size());
}

}  // namespace simmesh
