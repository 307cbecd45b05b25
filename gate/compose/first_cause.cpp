#include "gate/compose/first_cause.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>

#include "gate/compose/module_outputs.h"
#include "gate/runner.h"

namespace simmesh {

namespace {

bool are_equal(const RecordedTensor& a, const RecordedTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
}

std::vector<double> values_of(const RecordedTensor& tensor) {
  std::vector<double> values;
  visit_dtype(tensor.dtype, [&](auto zero) {
    decltype(zero) value;
    for (std::size_t at = 0; at + sizeof value <= tensor.bytes.size(); at += sizeof value) {
      std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
      values.push_back(double(value));
    }
  });
  return values;
}

// Returns the factor between all elements of two tensors, up to rounding; 0 if there is none.
double factor_between(const RecordedTensor& expected, const RecordedTensor& actual) {
  std::vector<double> a = values_of(expected), b = values_of(actual);
  if (a.size() != b.size()) return 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i]) > std::abs(a[largest])) largest = i;
  if (a.empty() || a[largest] == 0) return 0;
  double factor = b[largest] / a[largest];
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(b[i] - factor * a[i]) <= 1e-4 * std::abs(factor * a[largest]))) return 0;
  return factor;
}

std::string factor_text(const RecordedTensor& expected, const RecordedTensor& actual) {
  double factor = factor_between(expected, actual);
  bool is_plain = factor != 0 && std::abs(factor - 1) > 1e-3;
  return is_plain ? fmt::format(" {:.4g} times that of one device", factor) : "";
}

using RecordByName = std::map<std::string, const RecordedTensor*>;

// Returns the factor of a gradient, and that of the norm where clipping changed the former.
std::string gradient_factor_text(const RecordedTensor& expected, const RecordedTensor& actual,
                                 const RunRecord& one_device, const RecordByName& of_layout,
                                 std::int64_t step) {
  std::string own = factor_text(expected, actual), all;
  std::string norm = fmt::format("step {} gradient norm", step);
  for (const RecordedTensor& one : one_device)
    if (auto found = of_layout.find(norm); one.name == norm && found != of_layout.end())
      all = factor_text(one, *found->second);
  std::string text = own.empty() ? "" : "," + own;
  return all.empty() || all == own ? text : text + ", whose norm with all others is" + all;
}

// Returns the text for the gradients of a step; empty if all are equal.
std::string gradient_text(const RunRecord& expected, const RecordByName& actual,
                          std::int64_t step) {
  std::string prefix = fmt::format("step {} gradient of ", step), first;
  std::int64_t all = 0, different = 0;
  for (const RecordedTensor& one : expected) {
    if (!one.name.starts_with(prefix)) continue;
    ++all;
    auto found = actual.find(one.name);
    if (found != actual.end() && are_equal(one, *found->second)) continue;
    ++different;
    // Backward passes give the gradients of the last parameters first.
    std::string which = found == actual.end()
                            ? ", which this layout doesn't have"
                            : gradient_factor_text(one, *found->second, expected, actual, step);
    first = fmt::format("gradient of {} in step {}{}", one.name.substr(prefix.size()), step, which);
  }
  if (different == 0) return "";
  return fmt::format("{}; {} of {} gradients differ", first, different, all);
}

}  // namespace

std::string first_cause(const FirstCause& cause) {
  GateFile gate = cause.gate.run_as(cause.layout.run);
  GateRunner runner(gate, cause.options);
  ModuleOutputs outputs(cause.rank);
  GateRun run = runner.run({.schedule = runner.schedule_at(0),
                            .keep_record = true,
                            .at_model = outputs.recorder(),
                            .gradient_factor = cause.gradient_factor,
                            .recorded_rank = RankId(cause.rank)});
  if (!run.outcome.ok() || !run.ranks[std::size_t(cause.rank)].record) return "";
  RecordByName actual;
  for (const RecordedTensor& one : *run.ranks[std::size_t(cause.rank)].record)
    actual[one.name] = &one;
  auto differs = [&](const std::string& name) {
    for (const RecordedTensor& one : cause.one_device)
      if (one.name == name) return !actual.count(name) || !are_equal(one, *actual[name]);
    return false;
  };
  for (std::int64_t step = 0; step < gate.train.steps; ++step) {
    if (differs(fmt::format("step {} loss", step))) {
      std::string text = first_other_output(cause.gate, cause.options, cause.layout.run, outputs);
      return text.empty() ? fmt::format("loss of step {}", step) : text;
    }
    if (std::string text = gradient_text(cause.one_device, actual, step); !text.empty())
      return text;
    if (differs(fmt::format("step {} gradient norm", step)))
      return fmt::format("norm of the gradients of step {}, all of which are equal", step);
  }
  for (const RecordedTensor& one : cause.one_device)
    if (differs(one.name)) return one.name + " after the last step";
  return "a result that one device doesn't have";
}

}  // namespace simmesh
