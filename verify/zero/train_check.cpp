#include "verify/zero/train_check.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/tensor/convert.h"
#include "verify/case_bits.h"
#include "verify/case_number.h"

namespace simmesh {

namespace {

std::string hash_of_all(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  Tensor all = empty({std::int64_t(bytes)}, DType::uint8);
  std::byte* at = all.mutable_data();
  for (const Tensor& tensor : tensors) {
    Tensor rows = known_rows(tensor);
    std::memcpy(at, rows.data(), rows.bytes());
    at += rows.bytes();
  }
  return bits_text(all);
}

Tensor values_of(const CaseField& field) {
  std::vector<CaseField> entries = field.items();
  Tensor values = empty({std::int64_t(entries.size())}, DType::float64);
  auto elements = values.mutable_values<double>();
  for (std::size_t i = 0; i < entries.size(); ++i) elements[i] = read_number(entries[i]);
  return values;
}

}  // namespace

ZeroComparison ZeroComparison::read(const CaseField& field) {
  std::string mode = field["mode"].text();
  return {mode == "bits",
          mode != "tolerance",
          field["params_rtol"].number(),
          field["loss_rtol"].number(),
          field["norm_rtol"].number(),
          field["atol"].number()};
}

bool ZeroComparison::is_near(double actual, double expected, double rtol) const {
  if (std::isnan(expected)) return std::isnan(actual);
  if (rtol < 0 || std::isinf(expected)) return actual == expected;
  return actual == expected || std::abs(actual - expected) <= atol + rtol * std::abs(expected);
}

void ZeroRankCheck::expect_step(const CaseField& expected, std::size_t index) {
  const ZeroStep& step = result_.steps[index];
  std::string who = fmt::format("step {}: rank {}: ", index, rank_);
  report_.expect_equal(who + "skipped", expected["skipped"].boolean(), step.is_skipped);
  expect_losses(expected["loss"], who, step);
  expect_norm(expected["grad_norm"], who, step);
  for (auto [name, scale] :
       {std::pair("scale_before", step.scale_before), std::pair("scale_after", step.scale_after)}) {
    auto field = expected.find(name);
    if (!report_.expect_equal(fmt::format("{}has {}", who, name), field.has_value(),
                              task_.config.loss_scaler().has_value()))
      continue;
    if (field) report_.expect_equal(who + name, field->number(), scale);
  }
  if (comparison_.exact_parameters)
    report_.expect_equal(who + "parameters", expected["params_hash"].text(),
                         hash_of_all(step.parameters));
}

void ZeroRankCheck::expect_parameters(const CaseField& expected) {
  report_.expect_equal(fmt::format("rank {}: number of parameters", rank_), expected.size(),
                       result_.parameters.size());
  for (const auto& [name, tensor] : result_.parameters) {
    auto entry = expected.find(name);
    if (!entry) {
      report_.mismatch(fmt::format("rank {}: {}: expected no such parameter", rank_, name));
      continue;
    }
    expect_tensor(name, (*entry)["hash"], (*entry)["values"], tensor);
    if (auto sum = entry->find("sum")) expect_sum(name, *sum, tensor);
  }
  for (const auto& [name, tensor] : result_.masters) {
    auto entry = expected.find(name);
    if (!entry) continue;
    auto hash = entry->find("master_hash"), values = entry->find("master_values");
    // Stage 0 shows no master copies, and parameters of 32 bits are their own.
    bool has_master =
        task_.model.dtype != DType::float32 && task_.config.zero_optimization.stage > 0;
    report_.expect_equal(fmt::format("rank {}: {}: has a master copy", rank_, name),
                         hash.has_value() && values.has_value(), has_master);
    if (values && !values->is_null())
      expect_tensor(name + ": master", hash && !hash->is_null() ? hash : std::nullopt, *values,
                    tensor);
  }
}

void ZeroRankCheck::expect_near(const std::string& who, double expected, double actual,
                                double rtol) {
  if (!comparison_.is_near(actual, expected, rtol))
    report_.mismatch(fmt::format("{}: expected {}, got {}", who, expected, actual));
}

void ZeroRankCheck::expect_losses(const CaseField& expected, const std::string& who,
                                  const ZeroStep& step) {
  std::vector<CaseField> micro_batches = expected.items();
  if (!report_.expect_equal(who + "number of micro-batches", micro_batches.size(),
                            step.losses.size()))
    return;
  bool is_exact = comparison_.exact_losses && !step.is_skipped;
  for (std::size_t micro = 0; micro < micro_batches.size(); ++micro)
    expect_near(fmt::format("{}loss of micro-batch {}", who, micro),
                read_number(micro_batches[micro].items()[rank_]), step.losses[micro],
                is_exact ? -1.0 : comparison_.loss_rtol);
}

// Stage 0 computes the norm where parameters have 16 bits. It is "inf" where a step is skipped.
void ZeroRankCheck::expect_norm(const CaseField& expected, const std::string& who,
                                const ZeroStep& step) {
  bool has_norm = task_.model.dtype != DType::float32 || task_.config.zero_optimization.stage > 0;
  if (!report_.expect_equal(who + "has a norm", !expected.is_null(), has_norm) || !has_norm) return;
  double norm = step.norm.value_or(0.0);
  if (step.is_skipped && !std::isfinite(norm)) norm = std::numeric_limits<double>::infinity();
  expect_near(who + "norm", read_number(expected), norm, comparison_.norm_rtol);
}

// Where no run of ours can have the recorded hash, it must still be that of the recorded values.
void ZeroRankCheck::expect_tensor(const std::string& name, const std::optional<CaseField>& hash,
                                  const CaseField& expected, const Tensor& result) {
  std::string who = fmt::format("rank {}: {}", rank_, name);
  Tensor actual = known_rows(result);
  Tensor wanted = values_of(expected);
  Tensor values = converted(actual, DType::float64);
  auto got = values.values<double>();
  if (!report_.expect_equal(who + ": count", wanted.numel(), actual.numel())) return;
  auto doubles = wanted.values<double>();
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_near(fmt::format("{}[{}]", who, i), doubles[i], got[i], comparison_.params_rtol);
  if (!hash) return;
  std::string recorded = bits_text(converted(wanted, actual.dtype()));
  report_.expect_equal(who + ": hash", hash->text(),
                       comparison_.exact_parameters ? bits_text(actual) : recorded);
}

void ZeroRankCheck::expect_sum(const std::string& name, const CaseField& expected,
                               const Tensor& actual) {
  double sum = 0, magnitude = 0;
  for (double value : known_doubles(actual)) {
    sum += value;
    magnitude += std::abs(value);
  }
  double wanted = read_number(expected);
  double slack = comparison_.atol * double(actual.numel()) + comparison_.params_rtol * magnitude;
  bool is_near =
      sum == wanted || std::abs(sum - wanted) <= slack || (std::isnan(sum) && std::isnan(wanted));
  if (!is_near)
    report_.mismatch(
        fmt::format("rank {}: {}: sum: expected {}, got {}", rank_, name, wanted, sum));
}

void expect_recorded_hashes(const ZeroTask& task, const CaseField& expect, CaseReport& report) {
  std::vector<CaseField> steps = expect["steps"].items();
  std::vector<Tensor> last, first;
  for (const ParameterData& parameter : task.model.parameters) {
    auto entry = expect["params"].find(parameter.name);
    if (!entry) return;
    last.push_back(converted(values_of((*entry)["values"]), task.model.dtype));
    first.push_back(parameter_values(parameter, task.model.dtype));
  }
  auto compare = [&](std::size_t step, const std::vector<Tensor>& values) {
    report.expect_equal(fmt::format("step {}: hash of the recorded parameters", step),
                        steps[step]["params_hash"].text(), hash_of_all(values));
  };
  for (std::size_t i = steps.size(); i-- > 0;) {
    compare(i, last);
    if (!steps[i]["skipped"].boolean()) break;
  }
  for (std::size_t i = 0; i < steps.size() && steps[i]["skipped"].boolean(); ++i) compare(i, first);
}

}  // namespace simmesh
