#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/tensor/convert.h"
#include "training/zero_training.h"
#include "verify/case_bits.h"
#include "verify/case_kind.h"
#include "verify/case_model.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/case_work.h"
#include "verify/case_world.h"
#include "zero/config_keys.h"

namespace simmesh {

namespace {

Schema count_schema() { return schema::integer({.min = 1, .max = 4096}); }

Schema layer_schema() {
  using namespace schema;
  Schema count = count_schema();
  Field name = required("name", text()), out = required("out", count);
  Field frozen = optional("frozen", flag());
  return object_by(
      "op", {{"linear", {name, required("inp", count), out, required("bias", flag()), frozen}},
             {"embedding", {name, required("rows", count), out, frozen}},
             {"relu", {}}});
}

Schema init_schema() {
  using namespace schema;
  return object({required("param", text()), required("shape", shape_schema()),
                 required("rule", word({"small", "unit", "wide", "positive"})),
                 required("seed", seed()), required("scale", number()),
                 required("trainable", flag())});
}

Schema zero_optimizer_schema() {
  using namespace schema;
  Field lr = required("lr", number()), weight_decay = optional("weight_decay", number());
  Fields adam = {lr, required("betas", tuple({number(), number()})), required("eps", number()),
                 weight_decay};
  return object_by("type", {{"SGD", {lr, optional("momentum", number()), weight_decay}},
                            {"Adam", adam},
                            {"AdamW", adam}});
}

Schema scaler_schema() {
  using namespace schema;
  return object({optional("loss_scale", number()),
                 optional("initial_scale_power", integer({.min = 0, .max = 127})),
                 optional("loss_scale_window", integer({.min = 1, .max = 1 << 30})),
                 optional("hysteresis", integer({.min = 1, .max = 1 << 30})),
                 optional("consecutive_hysteresis", flag()),
                 optional("min_loss_scale", integer({.min = 0, .max = 1 << 30}))});
}

// The keys are read as DeepSpeed's.
Schema zero_keys_schema() {
  using namespace schema;
  Fields fields;
  for (const auto& key : zero::config_keys<zero::ZeroOptimization>())
    for (const std::string& name : {key.name, key.alias})
      if (!name.empty() && name != "stage") fields.push_back(optional(name, any()));
  return object(std::move(fields));
}

Schema final_schema(bool has_sum) {
  using namespace schema;
  Fields fields = {expected("hash", hash()), expected("values", list(figure())),
                   expected("master_hash", or_null(hash())).or_absent(),
                   expected("master_values", or_null(list(figure()))).or_absent()};
  if (has_sum) fields.push_back(expected("sum", figure()));
  return map(object(std::move(fields)));
}

Schema expect_schema() {
  using namespace schema;
  Schema step =
      object({expected("loss", list(list(figure(), {.min = 1}), {.min = 1})),
              expected("grad_norm", or_null(figure())), expected("skipped", flag()),
              expected("scale_before", number()).or_absent(),
              expected("scale_after", number()).or_absent(), expected("params_hash", hash())});
  Schema error = object(
      {required("type", text()), required("text", text()), required("step", integer({.min = 0}))});
  return object({expected("steps", list(step)), expected("params", final_schema(true)),
                 optional("error", error)});
}

Schema zero_train_schema() {
  using namespace schema;
  Schema count = count_schema(), share = number_in(0.0, 1.0);
  Schema group = object(
      {required("match", text()), required("lr", number()), required("weight_decay", number())});
  Schema compare = object({required("mode", word({"bits", "params_bits", "tolerance"})),
                           required("params_rtol", share), required("loss_rtol", share),
                           required("norm_rtol", share), required("atol", share)});
  return object({required("world", count), required("stage", integer({.min = 0, .max = 3})),
                 required("dtype", word({"float32", "float16", "bfloat16"})),
                 required("layers", list(layer_schema(), {.min = 1})),
                 required("init", list(init_schema(), {.min = 1})), required("batch", count),
                 required("accumulation", count), required("steps", count),
                 required("loss", word({"dot", "mse"})),
                 required("data_rule", word({"small", "unit", "wide", "positive"})),
                 required("data_seed", seed()), required("input_factor", list(number())),
                 optional("poison_step", or_null(integer({.min = 0}))),
                 required("optimizer", zero_optimizer_schema()),
                 required("groups", or_null(list(group, {.min = 1}))),
                 required("clip", number_in(0.0, std::numeric_limits<double>::infinity())),
                 required("zero", zero_keys_schema()), optional("fp16", or_null(scaler_schema())),
                 required("compare", compare), expected("expect", expect_schema()),
                 // Of disputed cases: what is right instead, and what it came from.
                 optional("correct", text()),
                 expected("correct_params", final_schema(false)).or_absent(),
                 optional("leaf", list(list(text(), {.min = 1}), {.min = 1}))});
}

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
      std::int64_t in = layer["inp"].integer(), out = layer["out"].integer();
      node.fields = {{"in", in}, {"out", out}, {"bias", layer["bias"].boolean()}};
      if (is_first) task.inputs = in;
      task.outputs = out;
    } else if (op == "embedding") {
      std::int64_t rows = layer["rows"].integer();
      task.outputs = layer["out"].integer();
      node.fields = {{"num", rows}, {"dim", task.outputs}};
      if (is_first) task.data.below = std::uint64_t(rows);
      task.has_indices = is_first;
    }
    is_first = false;
    calls.push_back(node.name);
    if (known.insert(node.name).second) root.children.push_back(std::move(node));
  }
  root.fields["calls"] = calls;
}

void read_init(const RecordedCase& recorded, ZeroTask& task) {
  std::set<std::string> frozen;
  for (const CaseField& layer : recorded["layers"].items())
    if (auto field = layer.find("frozen"); field && field->boolean())
      frozen.insert(layer["name"].text());
  for (const CaseField& field : recorded["init"].items()) {
    ParameterData parameter;
    parameter.name = field["param"].text();
    parameter.shape = field["shape"].shape();
    require_elements(field["shape"], parameter.shape, 1);
    parameter.data.rule = rule_from_string(field["rule"].text());
    parameter.data.seed = field["seed"].unsigned64();
    parameter.scale = field["scale"].number();
    bool is_frozen = frozen.count(parameter.name.substr(0, parameter.name.rfind('.'))) > 0;
    if (field["trainable"].boolean() == is_frozen)
      field["trainable"].reject("what the layers say of being frozen");
    if (is_frozen) task.model.frozen.push_back(parameter.name);
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
  return read_adam(field, optim::WeightDecay::decoupled);
}

zero::Fp16 read_fp16(const CaseField& field) {
  zero::Fp16 fp16{.enabled = true};
  fp16.loss_scale = number_or(field, "loss_scale", 0.0);
  for (auto [name, value] : {std::pair("initial_scale_power", &fp16.initial_scale_power),
                             std::pair("loss_scale_window", &fp16.loss_scale_window),
                             std::pair("hysteresis", &fp16.hysteresis),
                             std::pair("min_loss_scale", &fp16.min_loss_scale)})
    if (auto given = field.find(name)) *value = given->integer();
  if (auto consecutive = field.find("consecutive_hysteresis"))
    fp16.consecutive_hysteresis = consecutive->boolean();
  return fp16;
}

zero::ZeroOptimization read_zero_keys(const RecordedCase& recorded) {
  nlohmann::json config = {{"train_batch_size", 1},
                           {"zero_optimization", recorded["zero"].value()}};
  config["zero_optimization"]["stage"] = recorded["stage"].integer();
  try {
    return zero::Config::from_json(config.dump()).zero_optimization;
  } catch (const Error& error) {
    recorded["zero"].reject(fmt::format("keys of zero_optimization ({})", error.message()));
  }
}

ZeroTask read_zero_task(const RecordedCase& recorded) {
  ZeroTask task;
  task.config.zero_optimization = read_zero_keys(recorded);
  task.config.zero_allow_untested_optimizer = true;
  task.model.dtype = dtype_from_string(recorded["dtype"].text());
  task.data.rule = rule_from_string(recorded["data_rule"].text());
  task.data.seed = recorded["data_seed"].unsigned64();
  read_layers(recorded, task);
  read_init(recorded, task);
  task.batch = recorded["batch"].integer();
  task.config.gradient_accumulation_steps = recorded["accumulation"].integer();
  task.steps = recorded["steps"].integer();
  task.loss = loss_from_string(recorded["loss"].text()).value();
  for (const CaseField& factor : recorded["input_factor"].items())
    task.input_factor.push_back(factor.number());
  if (std::int64_t(task.input_factor.size()) != task.steps)
    recorded["input_factor"].reject("one factor a step");
  if (auto poison = recorded.find("poison_step"); poison && !poison->is_null())
    task.poison_step = poison->integer();
  task.optimizer = read_zero_optimizer(recorded["optimizer"]);
  if (CaseField groups = recorded["groups"]; !groups.is_null())
    for (const CaseField& group : groups.items())
      task.groups.push_back(
          {group["match"].text(), group["lr"].number(), group["weight_decay"].number()});
  task.config.gradient_clipping = recorded["clip"].number();
  auto scaler = recorded.find("fp16");
  bool has_scaler = scaler && !scaler->is_null();
  if (has_scaler != (task.model.dtype == DType::float16))
    recorded.root().reject("fp16 for the dtype float16, and for no other");
  if (has_scaler) task.config.fp16 = read_fp16(*scaler);
  return task;
}

// Comparison is how close figures must be.
struct Comparison {
  bool exact_losses = false, exact_parameters = false;
  double params_rtol = 0, loss_rtol = 0, norm_rtol = 0, atol = 0;

  static Comparison read(const CaseField& field) {
    std::string mode = field["mode"].text();
    return {mode == "bits",
            mode != "tolerance",
            field["params_rtol"].number(),
            field["loss_rtol"].number(),
            field["norm_rtol"].number(),
            field["atol"].number()};
  }

  // is_near compares within the tolerance; below 0 it is none at all.
  bool is_near(double actual, double expected, double rtol) const {
    if (std::isnan(expected)) return std::isnan(actual);
    if (rtol < 0 || std::isinf(expected)) return actual == expected;
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

Tensor values_of(const CaseField& field) {
  std::vector<CaseField> entries = field.items();
  Tensor values = empty({std::int64_t(entries.size())}, DType::float64);
  auto elements = values.mutable_values<double>();
  for (std::size_t i = 0; i < entries.size(); ++i) elements[i] = read_number(entries[i]);
  return values;
}

// RankCheck compares what one rank has with what is expected.
class RankCheck {
 public:
  RankCheck(CaseReport& report, const ZeroTask& task, const Comparison& comparison,
            const ZeroResult& result, std::size_t rank)
      : report_(report), task_(task), comparison_(comparison), result_(result), rank_(rank) {}

  void expect_step(const CaseField& expected, std::size_t index) {
    const ZeroStep& step = result_.steps[index];
    std::string who = fmt::format("step {}: rank {}: ", index, rank_);
    report_.expect_equal(who + "skipped", expected["skipped"].boolean(), step.is_skipped);
    expect_losses(expected["loss"], who, step);
    expect_norm(expected["grad_norm"], who, step);
    for (auto [name, scale] : {std::pair("scale_before", step.scale_before),
                               std::pair("scale_after", step.scale_after)}) {
      auto field = expected.find(name);
      if (!report_.expect_equal(fmt::format("{}has {}", who, name), field.has_value(),
                                task_.config.fp16.enabled))
        continue;
      if (field) report_.expect_equal(who + name, field->number(), scale);
    }
    if (comparison_.exact_parameters)
      report_.expect_equal(who + "parameters", expected["params_hash"].text(),
                           hash_of_all(step.parameters));
  }

  void expect_parameters(const CaseField& expected) {
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
      if (values && !values->is_null())
        expect_tensor(name + ": master", hash && !hash->is_null() ? hash : std::nullopt, *values,
                      tensor);
    }
  }

 private:
  void expect_near(const std::string& who, double expected, double actual, double rtol) {
    if (!comparison_.is_near(actual, expected, rtol))
      report_.mismatch(fmt::format("{}: expected {}, got {}", who, expected, actual));
  }

  void expect_losses(const CaseField& expected, const std::string& who, const ZeroStep& step) {
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
  void expect_norm(const CaseField& expected, const std::string& who, const ZeroStep& step) {
    bool has_norm = task_.model.dtype != DType::float32 || task_.config.zero_optimization.stage > 0;
    if (!report_.expect_equal(who + "has a norm", !expected.is_null(), has_norm) || !has_norm)
      return;
    double norm = step.norm.value_or(0.0);
    if (step.is_skipped && !std::isfinite(norm)) norm = std::numeric_limits<double>::infinity();
    expect_near(who + "norm", read_number(expected), norm, comparison_.norm_rtol);
  }

  // Where no hash of ours can be met, the recorded one is still that of the recorded values.
  void expect_tensor(const std::string& name, const std::optional<CaseField>& hash,
                     const CaseField& expected, const Tensor& actual) {
    std::string who = fmt::format("rank {}: {}", rank_, name);
    Tensor wanted = values_of(expected);
    auto values = converted(actual.contiguous(), DType::float64);
    auto got = values.values<double>();
    if (!report_.expect_equal(who + ": count", wanted.element_count(), actual.element_count()))
      return;
    auto doubles = wanted.values<double>();
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_near(fmt::format("{}[{}]", who, i), doubles[i], got[i], comparison_.params_rtol);
    if (!hash) return;
    std::string recorded = bits_text(converted(wanted, actual.dtype()));
    report_.expect_equal(who + ": hash", hash->text(),
                         comparison_.exact_parameters ? bits_text(actual) : recorded);
  }

  void expect_sum(const std::string& name, const CaseField& expected, const Tensor& actual) {
    Tensor rows = converted(actual.contiguous(), DType::float64);
    double sum = 0, magnitude = 0;
    for (double value : rows.values<double>()) {
      sum += value;
      magnitude += std::abs(value);
    }
    double wanted = read_number(expected);
    double slack =
        comparison_.atol * double(rows.element_count()) + comparison_.params_rtol * magnitude;
    bool is_near =
        sum == wanted || std::abs(sum - wanted) <= slack || (std::isnan(sum) && std::isnan(wanted));
    if (!is_near)
      report_.mismatch(
          fmt::format("rank {}: {}: sum: expected {}, got {}", rank_, name, wanted, sum));
  }

  CaseReport& report_;
  const ZeroTask& task_;
  const Comparison& comparison_;
  const ZeroResult& result_;
  std::size_t rank_;
};

// Where parameters are compared by tolerance, no hash of a run of ours can be met. But the last
// hash is that of the recorded values, and a skipped step leaves the parameters as they were.
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

// Each step says the losses of every rank.
void require_losses(const CaseField& steps, std::int64_t world) {
  for (const CaseField& step : steps.items())
    for (const CaseField& figures : step["loss"].items())
      if (std::int64_t(figures.size()) != world)
        figures.reject(fmt::format("one loss for each of {} ranks", world));
}

void verify_zero_train(const RecordedCase& recorded, const VerifyOptions& options,
                       CaseReport& report) {
  ZeroTask task = read_zero_task(recorded);
  Comparison comparison = Comparison::read(recorded["compare"]);
  std::int64_t world_size = recorded["world"].integer();
  CaseField expect = recorded["expect"];
  require_work(recorded["layers"], task.model,
               {.ranks = world_size,
                .steps = task.steps * *task.config.gradient_accumulation_steps,
                .input = {task.batch, std::max(task.inputs, task.outputs)}});
  require_parameters(recorded["init"], task.model);
  require_losses(expect["steps"], world_size);
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
  auto correct = recorded.find("correct_params");
  if (!correct && expect.has("error"))
    return report.mismatch("expected an error, got a training run");
  std::vector<CaseField> steps = expect["steps"].items();
  if (!correct && !comparison.exact_parameters) expect_recorded_hashes(task, expect, report);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    RankCheck check(report, task, comparison, ranks[rank], rank);
    // Of a disputed case only the parameters are known that are right.
    if (correct) {
      check.expect_parameters(*correct);
      continue;
    }
    if (!report.expect_equal("number of steps", steps.size(), ranks[rank].steps.size())) return;
    for (std::size_t i = 0; i < steps.size(); ++i) check.expect_step(steps[i], i);
    check.expect_parameters(expect["params"]);
  }
}

const CaseKind zero_train_kind(
    {.name = "zero_train",
     .summary = "losses, norms, loss scales and parameters of every step of a run, on "
                "every rank, as the case says how",
     .schema = zero_train_schema,
     .verifier = verify_zero_train});

}  // namespace

}  // namespace simmesh
