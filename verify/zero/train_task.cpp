#include "verify/zero/train_task.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "verify/case_model.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/case_work.h"
#include "zero/config/config_keys.h"

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

// The keys are read like DeepSpeed's.
Schema zero_keys_schema() {
  using namespace schema;
  Fields fields;
  for (const auto& key : zero::config_keys<zero::ZeroOptimization>())
    for (const std::string& name : {key.name, key.alias})
      if (!name.empty() && name != "stage") fields.push_back(optional(name, any()));
  return object(std::move(fields));
}

Schema autocast_schema() {
  using namespace schema;
  return object({required("enabled", flag()), optional("dtype", text()),
                 optional("lower_precision_safe_modules", list(text()))});
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
  Schema step = object({expected("loss", list(list(figure(), {.min = 1}), {.min = 1})),
                        expected("grad_norm", or_null(figure())), expected("skipped", flag()),
                        expected("scale_before", number()).or_absent(),
                        expected("scale_after", number()).or_absent(),
                        expected("params_hash", hash())
                            .because("by tolerance it is compared after the last step only")});
  Schema error = object(
      {required("type", text()), required("text", text()), required("step", integer({.min = 0}))});
  return object({expected("steps", list(step)), expected("params", final_schema(true)),
                 optional("error", error)});
}

// Layers become a sequence; a name that occurs twice is one layer that is called twice.
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

// Returns what DeepSpeed reads from the keys zero and torch_autocast.
zero::Config read_sections(const RecordedCase& recorded) {
  nlohmann::json config = {{"train_batch_size", 1},
                           {"zero_optimization", recorded["zero"].value()}};
  config["zero_optimization"]["stage"] = recorded["stage"].integer();
  if (auto autocast = recorded.find("torch_autocast")) config["torch_autocast"] = autocast->value();
  try {
    return zero::Config::from_json(config.dump());
  } catch (const Error& error) {
    recorded["zero"].reject(fmt::format("keys of a configuration ({})", error.message()));
  }
}

}  // namespace

Schema zero_train_schema() {
  using namespace schema;
  Schema count = count_schema(), share = number_in(0.0, 1.0);
  Schema group = object(
      {required("match", text()), required("lr", number()), required("weight_decay", number())});
  Schema compare = object({required("mode", word({"bits", "params_bits", "tolerance"})),
                           required("params_rtol", share), required("loss_rtol", share),
                           required("norm_rtol", share), required("atol", share)});
  return object(
      {required("world", count), required("stage", integer({.min = 0, .max = 3})),
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
       required("zero", zero_keys_schema()), optional("torch_autocast", autocast_schema()),
       optional("fp16", or_null(scaler_schema())), required("compare", compare),
       expected("expect", expect_schema()),
       // For disputed cases: the correct value, and its source.
       optional("correct", text()), expected("correct_params", final_schema(false)).or_absent(),
       optional("leaf", list(list(text(), {.min = 1}), {.min = 1}))});
}

ZeroTask read_zero_task(const RecordedCase& recorded) {
  ZeroTask task;
  zero::Config sections = read_sections(recorded);
  task.config.zero_optimization = sections.zero_optimization;
  task.config.torch_autocast = sections.torch_autocast;
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

}  // namespace simmesh
