#include "gate/explain.h"

#include <fmt/format.h>

#include "gate/check_kind.h"
#include "gate/tables/muon.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

struct ShowField {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return toml_number(value); }
  std::string operator()(const std::string& value) const { return toml_quoted(value); }
  std::string operator()(const std::vector<std::string>& value) const { return toml_texts(value); }
  std::string operator()(const nn::ModelNode::NamedShapes& value) const {
    std::string text;
    for (const auto& [name, shape] : value)
      text +=
          fmt::format("{}[{}, {}]", text.empty() ? "" : ", ", toml_quoted(name), toml_sizes(shape));
    return "[" + text + "]";
  }
};

std::string node_text(const nn::ModelNode& node) {
  std::string text =
      fmt::format("{{ name = {}, kind = {}", toml_quoted(node.name), toml_quoted(node.kind));
  for (const auto& [key, field] : node.fields)
    text += fmt::format(", {} = {}", key, std::visit(ShowField(), field));
  if (!node.children.empty()) text += ", children = " + toml_list(node.children, node_text);
  return text + " }";
}

void add_sizes(TomlTable& table, const GateModel& model) {
  table.word("kind", to_string(model.kind));
  if (model.is_given_by_nodes()) {
    table.add("nodes", toml_list(model.nodes, node_text));
    return;
  }
  table.add("layers", model.layers);
  table.add("width", model.width);
  if (model.kind != ModelKind::linear_stack) table.add("hidden", model.hidden);
  if (model.kind != ModelKind::linear_stack) table.add("dropout", toml_number(model.dropout));
  if (model.kind == ModelKind::mlp) table.add("out", model.out);
  if (!model.has_blocks()) table.add("bias", model.bias);
  if (model.kind == ModelKind::mlp || model.kind == ModelKind::transformer)
    table.word("activation", model.activation);
  if (!model.has_blocks()) return;
  table.add("heads", model.heads);
  table.add("vocabulary", model.vocabulary);
  table.add("causal", model.causal);
  table.word("norm", model.norm);
  table.add("tied_head", model.tied_head);
  if (model.kind != ModelKind::moe) return;
  table.add("experts", model.experts);
  table.add("top_k", model.top_k);
  add_gate_moe(model.moe, table);
}

std::string model_text(const GateModel& model) {
  TomlTable table("model");
  add_sizes(table, model);
  table.word("dtype", to_string(model.dtype));
  table.add("init",
            fmt::format("{{ rule = {}, scale = {}, seed = {}, on_meta = {} }}",
                        toml_quoted(to_string(model.init_rule)), toml_number(model.init_scale),
                        model.init_seed, model.init_on_meta));
  return table.text();
}

std::string data_text(const GateFile& gate) {
  TomlTable table("data");
  table.word("rule", to_string(gate.data.rule));
  table.add("seed", std::int64_t(gate.data.seed));
  table.add("batch", gate.data.batch);
  table.add("rows", gate.data.rows);
  if (!gate.model.is_given_by_nodes()) {
    table.add("sequence", gate.data.sequence);
    return table.text();
  }
  table.add("input", toml_sizes(gate.data.input));
  table.add("vocabulary", gate.data.vocabulary);
  table.add("target", toml_sizes(gate.data.target));
  if (gate.data.classes > 0) table.add("classes", gate.data.classes);
  return table.text();
}

std::string replicate_entry(const GateReplicate& replicate) {
  return fmt::format("{{ mesh = {}, bucket_bytes = {}, find_unused = {} }}",
                     toml_quoted(replicate.mesh), replicate.bucket_bytes, replicate.find_unused);
}

struct ShowPlainValue {
  std::string operator()(std::monostate) const { return "\"default\""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return toml_number(value); }
  std::string operator()(const std::string& value) const { return toml_quoted(value); }
};

std::string dtype_entry(const std::optional<DType>& dtype) {
  return toml_quoted(dtype ? to_string(*dtype) : "none");
}

std::string grad_dtype_entry(const GradDtype& policy) {
  if (!policy.is_set()) return toml_quoted("default");
  return toml_quoted(policy.is_any() ? "any" : to_string(*policy.dtype_for(DType::float32)));
}

std::string fsdp_entry(const GateFsdp& fsdp) {
  const ShardedSettings& settings = fsdp.settings;
  std::string wrap =
      fsdp.wrap == "modules" ? toml_list(fsdp.modules, toml_texts) : toml_quoted(fsdp.wrap);
  std::string text =
      fmt::format("{{ mesh = {}, wrap = {}, reshard_after_forward = {}", toml_texts(fsdp.mesh),
                  wrap, std::visit(ShowPlainValue(), fsdp.reshard_after_forward));
  text += fmt::format(
      ", param_dtype = {}, reduce_dtype = {}, output_dtype = {}, cast_forward_inputs = {}",
      dtype_entry(fsdp.mp_policy.param_dtype), dtype_entry(fsdp.mp_policy.reduce_dtype),
      dtype_entry(fsdp.mp_policy.output_dtype), fsdp.mp_policy.cast_forward_inputs);
  text += fmt::format(", offload = {}, shard_placement = {}, ignored_params = {}",
                      toml_quoted(fsdp.offloads ? "cpu" : "none"),
                      toml_quoted(fsdp.shards_largest_dim ? "largest" : "default"),
                      toml_texts(fsdp.ignored_params));
  text += fmt::format(", sync = {}, forward_prefetch = {}, backward_prefetch = {}",
                      toml_quoted(to_string(settings.sync)), settings.forward_prefetch,
                      settings.backward_prefetch);
  return text + fmt::format(
                    ", reshard_after_backward = {}, gradient_divide_factor = {}, "
                    "force_sum_reduction_for_comms = {}, reduce_scatter_unused_params = {}, "
                    "grad_dtype = {}, keep_unsharded_storage = {}, finalize_backward = {} }}",
                    settings.reshard_after_backward,
                    toml_number(settings.gradient_divide_factor.value_or(0.0)),
                    settings.force_sum_reduction, settings.reduces_unused_params,
                    grad_dtype_entry(settings.grad_dtype), settings.keeps_unsharded_storage,
                    toml_quoted(to_string(settings.backward_end)));
}

// Returns the keys of the table [parallel] with their values.
std::vector<std::pair<std::string, std::string>> parallel_entries(const GateParallel& parallel) {
  std::vector<std::pair<std::string, std::string>> entries;
  if (parallel.replicate) entries.emplace_back("replicate", replicate_entry(*parallel.replicate));
  if (parallel.fsdp) entries.emplace_back("fsdp", fsdp_entry(*parallel.fsdp));
  if (parallel.zero) entries.emplace_back("zero", zero_entry(*parallel.zero));
  if (parallel.context) entries.emplace_back("context", context_entry(*parallel.context));
  if (parallel.tensor) entries.emplace_back("tensor", tensor_entry(*parallel.tensor));
  if (parallel.expert) entries.emplace_back("expert", expert_entry(*parallel.expert));
  if (parallel.pipeline) entries.emplace_back("pipeline", pipeline_entry(*parallel.pipeline));
  entries.emplace_back("activation_checkpointing",
                       toml_quoted(parallel.checkpoint_blocks ? "blocks" : "none"));
  return entries;
}

std::string parallel_text(const GateParallel& parallel) {
  TomlTable table("parallel");
  for (const auto& [key, value] : parallel_entries(parallel)) table.add(key, value);
  return table.text();
}

}  // namespace

std::string same_as_entry(const GateSameAs& other) {
  if (!other.word.empty()) return toml_quoted(other.word);
  std::string parallel = toml_list(parallel_entries(other.parallel), [](const auto& entry) {
    return entry.first + " = " + entry.second;
  });
  parallel.front() = '{';
  parallel.back() = '}';
  return fmt::format("{{ mesh = {}, names = {}, parallel = {} }}", toml_sizes(other.layout.shape),
                     toml_texts(other.layout.names), parallel);
}

namespace {

std::string checkpoint_text(const std::optional<GateCheckpoint>& checkpoint) {
  if (!checkpoint) return "";
  TomlTable table("checkpoint");
  table.add("save_at", checkpoint->save_at);
  table.add("mode", toml_quoted(to_string(checkpoint->mode)));
  const SaveContents& contents = checkpoint->contents;
  table.word("layout", contents.layout == checkpoint::SaveLayout::modular ? "modular" : "one_file");
  table.add("keeps_local", contents.keeps_local);
  if (contents.ema) {
    bool from_first = contents.ema->start == checkpoint::MovingAverage::Start::first_value;
    table.add("ema", fmt::format("{{ decay = {}, interval = {}, start = \"{}\" }}",
                                 toml_number(contents.ema->decay), contents.ema->interval,
                                 from_first ? "first_value" : "zeros"));
  }
  if (!checkpoint->resumes_alike) table.add("resume_on", same_as_entry(checkpoint->resume_on));
  return table.text();
}

std::string optimizer_text(const OptimizerSpec& spec) {
  if (const auto* sgd = std::get_if<optim::SgdOptions>(&spec))
    return fmt::format(
        "{{ kind = \"sgd\", lr = {}, momentum = {}, dampening = {}, weight_decay = {}, nesterov = "
        "{} }}",
        toml_number(sgd->lr), toml_number(sgd->momentum), toml_number(sgd->dampening),
        toml_number(sgd->weight_decay), sgd->nesterov);
  if (const auto* muon = std::get_if<MuonSpec>(&spec)) return muon_text(*muon);
  const AdamSpec& adam = std::get<AdamSpec>(spec);
  return fmt::format("{{ kind = {}, lr = {}, betas = [{}, {}], eps = {}, weight_decay = {} }}",
                     adam.decay == optim::WeightDecay::added ? "\"adam\"" : "\"adamw\"",
                     toml_number(adam.options.lr), toml_number(adam.options.beta1),
                     toml_number(adam.options.beta2), toml_number(adam.options.eps),
                     toml_number(adam.options.weight_decay));
}

// Leaves out the optimizer of a DeepSpeed file, which may have more keys than a gate.
std::string train_text(const GateTrain& train, const GateParallel& parallel) {
  TomlTable table("train");
  table.add("steps", train.steps);
  table.add("micro_batches", train.micro_batches);
  bool is_of_file =
      parallel.zero && !parallel.zero->file.empty() && parallel.zero->config.optimizer;
  if (!is_of_file) table.add("optimizer", optimizer_text(train.optimizer));
  if (train.lr_schedule) table.add("lr_schedule", learning_rate_entry(*train.lr_schedule));
  table.add("clip_grad_norm", toml_number(train.clip_grad_norm));
  table.word("loss", to_string(train.loss));
  return table.text();
}

// Leaves out the keys that a world of shapes only refuses.
std::string expect_text(const GateExpect& expect, bool shapes_only) {
  TomlTable table("expect");
  for (const CheckKind* kind : CheckKind::all())
    if (!shapes_only || !kind->needs_data()) kind->explain(expect, table);
  return table.text();
}

std::string device_text(std::optional<DeviceModel> device) {
  if (!device) return "";
  TomlTable table("device");
  for (const DeviceFigure& figure : device_figures())
    table.add(figure.key, toml_number(figure.of(*device)));
  table.add("capacity_bytes", device->capacity_bytes);
  table.add("checks_races", device->checks_races);
  table.add("devices_per_host", device->topology.devices_per_host);
  return table.text();
}

std::string fault_text(const GateFault& fault) {
  std::string text = fmt::format("{{ rank = {}", fault.rank);
  if (fault.kind == Fault::Kind::fail_allocation)
    text += fmt::format(", allocation = {}", *fault.number);
  else if (fault.kind != Fault::Kind::starve)
    text += fmt::format(", at = {}", toml_quoted(at_of(fault)));
  if (fault.kind == Fault::Kind::flip_bit) text += fmt::format(", bit = {}", fault.bit);
  return text + " }";
}

std::string faults_text(const std::vector<GateFault>& faults) {
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const GateFault& fault : faults)
    by_kind[std::string(to_string(fault.kind))].push_back(fault_text(fault));
  TomlTable table("faults");
  for (const auto& [kind, entries] : by_kind)
    table.add(kind, entries.size() == 1
                        ? entries[0]
                        : toml_list(entries, [](const std::string& entry) { return entry; }));
  return table.text();
}

}  // namespace

std::string explain(const GateFile& gate) {
  std::string text = fmt::format("title = {}\n", toml_quoted(gate.title));
  TomlTable mesh("mesh");
  mesh.add("shape", toml_sizes(gate.mesh.shape));
  mesh.add("names", toml_texts(gate.mesh.names));
  TomlTable world("world");
  world.word("release", to_string(gate.world.release));
  world.add("shapes_only", gate.world.shapes_only);
  world.add("fold", gate.world.fold);
  world.word("seats", gate.world.seats_are_processes ? "processes" : "fibers");
  TomlTable arithmetic("arithmetic");
  arithmetic.word("mode", gate.arithmetic);
  return text + mesh.text() + world.text() + model_text(gate.model) + data_text(gate) +
         parallel_text(gate.parallel) + train_text(gate.train, gate.parallel) + arithmetic.text() +
         device_text(gate.device) + expect_text(gate.expect, gate.world.shapes_only) +
         faults_text(gate.faults) + checkpoint_text(gate.checkpoint);
}

}  // namespace simmesh
