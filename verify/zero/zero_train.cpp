#include "verify/zero/zero_train.h"

#include <cmath>
#include <cstring>
#include <set>

#include "core/tensor/convert.h"
#include "training/zero_training.h"
#include "verify/case_bits.h"
#include "verify/case_model.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/case_world.h"

namespace simmesh {

namespace {

constexpr CaseField::Range count_range{1, 4096};

// Layers become a sequence; a name that comes twice is one layer that is called twice.
void read_layers(const RecordedCase& recorded, ZeroTask& task) {
  nn::ModelNode& root = task.model.node;
  root.kind = "sequential";
  std::vector<std::string> calls;
  std::set<std::string> known;
  bool is_first = true;
  for (const CaseField& layer : recorded["layers"].items()) {
    nn::ModelNode node;
    std::string op = layer["op"].text();
    node.kind = op;
    node.name = op == "relu" ? fmt::format("relu{}", calls.size()) : layer["name"].text();
    if (op == "linear") {
      std::int64_t in = layer["inp"].integer(count_range), out = layer["out"].integer(count_range);
      node.fields = {{"in", in}, {"out", out}, {"bias", layer["bias"].boolean()}};
      if (is_first) task.inputs = in;
      task.outputs = out;
    } else if (op == "embedding") {
      std::int64_t rows = layer["rows"].integer(count_range);
      task.outputs = layer["out"].integer(count_range);
      node.fields = {{"num", rows}, {"dim", task.outputs}};
      if (is_first) task.data.below = std::uint64_t(rows);
      task.has_indices = is_first;
    } else if (op != "relu") {
      layer["op"].reject("linear, embedding or relu");
    }
    is_first = false;
    calls.push_back(node.name);
    if (known.insert(node.name).second) root.children.push_back(std::move(node));
  }
  root.fields["calls"] = calls;
}

void read_init(const RecordedCase& recorded, ZeroTask& task) {
  for (const CaseField& field : recorded["init"].items()) {
    ParameterData parameter;
    parameter.name = field["param"].text();
    parameter.shape = field["shape"].shape();
    require_elements(field["shape"], parameter.shape, 1);
    parameter.data.rule = rule_from_string(field["rule"].text());
    parameter.data.seed = field["seed"].unsigned64();
    if (auto scale = field.find("scale")) parameter.scale = scale->number();
    if (!field["trainable"].boolean()) task.model.frozen.push_back(parameter.name);
    task.model.parameters.push_back(std::move(parameter));
  }
}

OptimizerSpec read_zero_optimizer(const CaseField& field) {
  std::string type = field["type"].text();
  if (type == "SGD")
    return optim::SgdOptions{.lr = field["lr"].number(),
                             .momentum = number_or(field, "momentum", 0.0),
                             .weight_decay = number_or(field, "weight_decay", 0.0)};
  if (type == "Adam") return read_adam(field, optim::WeightDecay::added);
  if (type == "AdamW") return read_adam(field, optim::WeightDecay::decoupled);
  field["type"].reject("SGD, Adam or AdamW");
}

optim::LossScaler::Options read_scaler(const std::optional<CaseField>& field) {
  optim::LossScaler::Options options{.scale = 65536.0, .growth_interval = 1000, .hysteresis = 2};
  if (!field || field->is_null()) return options;
  if (auto scale = field->find("loss_scale"); scale && scale->number() != 0) {
    options.scale = scale->number();
    options.is_dynamic = false;
  } else if (auto power = field->find("initial_scale_power")) {
    options.scale = std::ldexp(1.0, int(power->integer({0, 127})));
  }
  if (auto window = field->find("loss_scale_window"))
    options.growth_interval = window->integer({1, 1 << 30});
  if (auto hysteresis = field->find("hysteresis"))
    options.hysteresis = hysteresis->integer({1, 1 << 30});
  if (auto consecutive = field->find("consecutive_hysteresis"))
    options.consecutive_hysteresis = consecutive->boolean();
  if (auto least = field->find("min_loss_scale")) options.scale_min = least->number();
  return options;
}

ZeroTask read_zero_task(const RecordedCase& recorded) {
  ZeroTask task;
  task.model.dtype = dtype_from_string(recorded["dtype"].text());
  task.data.rule = rule_from_string(recorded["data_rule"].text());
  task.data.seed = recorded["data_seed"].unsigned64();
  read_layers(recorded, task);
  read_init(recorded, task);
  task.batch = recorded["batch"].integer(count_range);
  task.accumulation = recorded["accumulation"].integer(count_range);
  task.steps = recorded["steps"].integer(count_range);
  auto loss = loss_from_string(recorded["loss"].text());
  if (!loss || *loss == LossKind::cross_entropy) recorded["loss"].reject("dot or mse");
  task.loss = *loss;
  for (const CaseField& factor : recorded["input_factor"].items())
    task.input_factor.push_back(factor.number());
  if (std::int64_t(task.input_factor.size()) < task.steps)
    recorded["input_factor"].reject("one factor a step");
  if (auto poison = recorded.find("poison_step"); poison && !poison->is_null())
    task.poison_step = poison->integer();
  task.optimizer = read_zero_optimizer(recorded["optimizer"]);
  if (auto groups = recorded.find("groups"); groups && !groups->is_null())
    for (const CaseField& group : groups->items())
      task.groups.push_back(
          {group["match"].text(), group["lr"].number(), group["weight_decay"].number()});
  task.clip = recorded["clip"].number();
  if (task.model.dtype == DType::float16) task.scaler = read_scaler(recorded.find("fp16"));
  return task;
}

// Comparison is how close figures must be.
struct Comparison {
  bool exact_losses = false, exact_parameters = false;
  double params_rtol = 0, loss_rtol = 0, norm_rtol = 0, atol = 0;

  static Comparison read(const CaseField& field) {
    std::string mode = field["mode"].text();
    if (mode != "bits" && mode != "params_bits" && mode != "tolerance")
      field["mode"].reject("bits, params_bits or tolerance");
    return {mode == "bits",
            mode != "tolerance",
            field["params_rtol"].number(),
            field["loss_rtol"].number(),
            field["norm_rtol"].number(),
            field["atol"].number()};
  }

  bool is_near(double actual, double expected, double rtol) const {
    if (std::isnan(expected)) return std::isnan(actual);
    return actual == expected || std::abs(actual - expected) <= atol + rtol * std::abs(expected);
  }
};

std::string hash_of_all(const std::vector<Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  Tensor all = empty({std::int64_t(bytes)}, DType::uint8);
  std::byte* at = all.mutable_data();
  for (const Tensor& tensor : tensors) {
    Tensor rows = tensor.contiguous();
    std::memcpy(at, rows.data(), rows.bytes());
    at += rows.bytes();
  }
  return bits_text(all);
}

void expect_losses(CaseReport& report, const CaseField& expected, const Comparison& comparison,
                   const std::vector<ZeroResult>& ranks, std::size_t step, bool is_skipped) {
  std::vector<CaseField> micro_batches = expected.items();
  for (std::size_t micro = 0; micro < micro_batches.size(); ++micro) {
    std::vector<CaseField> figures = micro_batches[micro].items();
    for (std::size_t rank = 0; rank < std::min(figures.size(), ranks.size()); ++rank) {
      double wanted = read_number(figures[rank]);
      double got = ranks[rank].steps[step].losses.at(micro);
      bool is_exact = comparison.exact_losses && !is_skipped;
      if (is_exact ? !(got == wanted || (std::isnan(got) && std::isnan(wanted)))
                   : !comparison.is_near(got, wanted, comparison.loss_rtol))
        report.mismatch(fmt::format("step {}: loss of micro-batch {}, rank {}: expected {}, got {}",
                                    step, micro, rank, wanted, got));
    }
  }
}

void expect_step(CaseReport& report, const CaseField& expected, const Comparison& comparison,
                 const std::vector<ZeroResult>& ranks, std::size_t index) {
  const ZeroStep& step = ranks[0].steps[index];
  std::string who = fmt::format("step {}: ", index);
  report.expect_equal(who + "skipped", expected["skipped"].boolean(), step.is_skipped);
  expect_losses(report, expected["loss"], comparison, ranks, index, step.is_skipped);
  if (auto norm = expected.find("grad_norm"); norm && !norm->is_null())
    if (!comparison.is_near(*step.norm, read_number(*norm), comparison.norm_rtol))
      report.mismatch(
          fmt::format("{}norm: expected {}, got {}", who, read_number(*norm), *step.norm));
  for (auto [name, scale] :
       {std::pair("scale_before", step.scale_before), std::pair("scale_after", step.scale_after)})
    if (auto field = expected.find(name); field && !field->is_null())
      report.expect_equal(who + name, field->number(), scale);
  if (comparison.exact_parameters)
    report.expect_equal(who + "parameters", expected["params_hash"].text(),
                        hash_of_all(step.parameters));
}

void expect_values(CaseReport& report, const std::string& who, const CaseField& expected,
                   const Comparison& comparison, const Tensor& actual) {
  Tensor rows = converted(actual.contiguous(), DType::float64);
  auto values = rows.values<double>();
  std::vector<CaseField> wanted = expected.items();
  if (!report.expect_equal(who + ": count", wanted.size(), values.size())) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!comparison.is_near(values[i], read_number(wanted[i]), comparison.params_rtol))
      report.mismatch(
          fmt::format("{}[{}]: expected {}, got {}", who, i, read_number(wanted[i]), values[i]));
}

void expect_parameters(CaseReport& report, const CaseField& expected, const Comparison& comparison,
                       const ZeroResult& result) {
  for (const auto& [name, tensor] : result.parameters) {
    CaseField entry = expected[name];
    if (comparison.exact_parameters)
      report.expect_equal(name + ": hash", entry["hash"].text(), bits_text(tensor));
    expect_values(report, name, entry["values"], comparison, tensor);
  }
  for (const auto& [name, tensor] : result.masters) {
    CaseField entry = expected[name];
    auto hash = entry.find("master_hash");
    if (hash && !hash->is_null() && comparison.exact_parameters)
      report.expect_equal(name + ": master hash", hash->text(), bits_text(tensor));
    if (auto values = entry.find("master_values"); values && !values->is_null())
      expect_values(report, name + ": master", *values, comparison, tensor);
  }
}

}  // namespace

void verify_zero_train(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report) {
  if (recorded["stage"].integer({0, 3}) != 0)
    return report.mismatch("expected stage 0, got a stage that shards the optimiser's state");
  ZeroTask task = read_zero_task(recorded);
  Comparison comparison = Comparison::read(recorded["compare"]);
  std::int64_t world_size = recorded["world"].integer(count_range);
  std::vector<ZeroResult> ranks(static_cast<std::size_t>(world_size));
  World world(world_options(options, world_size));
  auto error = run_case(
      world,
      [&](Rank& rank) {
        ZeroResult& result = ranks[rank.id()];
        result = train_zero(task);
        for (const auto& [name, parameter] : result.parameters) rank.record(parameter);
      },
      report);
  if (error) return report.mismatch(fmt::format("expected a training run, got {}", error->what()));
  if (report.failed()) return;
  CaseField expect = recorded["expect"];
  std::vector<CaseField> steps = expect["steps"].items();
  if (!report.expect_equal("steps", steps.size(), ranks[0].steps.size())) return;
  for (std::size_t i = 0; i < steps.size(); ++i)
    expect_step(report, steps[i], comparison, ranks, i);
  expect_parameters(report, expect["params"], comparison, ranks[0]);
}

}  // namespace simmesh
