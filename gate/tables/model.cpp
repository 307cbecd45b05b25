#include "gate/tables/model.h"

#include <fmt/format.h>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::size_t nesting_max = 64;
constexpr GateTable::Range sizes_range{1, 1 << 16};

using Fields = std::map<std::string, nn::ModelNode::Field>;

nn::ModelNode::Field read_field(GateTable& table, const std::string& key) {
  const toml::node& node = *table.value(key);
  if (node.is_string()) return table.text(key, "");
  if (node.is_boolean()) return table.boolean(key, false);
  if (node.is_integer()) {
    constexpr GateTable::Range field_range{0, 1 << 20};
    return table.integer(key, 0, field_range);
  }
  if (node.is_floating_point()) return table.number(key, 0, {-1e9, 1e9});
  return table.texts(key);
}

nn::ModelNode read_node(GateTable& table, std::size_t depth) {
  if (depth > nesting_max) table.reject("children", "at most 64 levels of nodes");
  nn::ModelNode node;
  node.name = table.text("name", "");
  if (node.name.empty() || node.name.find('.') != node.name.npos)
    table.reject("name", "a name without dots");
  node.kind = table.word("kind", "", nn::model_node_kinds());
  for (GateTable& child : table.tables("children"))
    node.children.push_back(read_node(child, depth + 1));
  for (const std::string& field : nn::fields_of(node.kind))
    if (table.has(field)) node.fields[field] = read_field(table, field);
  table.finish();
  return node;
}

nn::ModelNode leaf(std::string name, std::string kind, Fields fields = {}) {
  return {std::move(name), std::move(kind), std::move(fields), {}};
}

nn::ModelNode linear(std::string name, std::int64_t in, std::int64_t out, bool bias) {
  return leaf(std::move(name), "linear", {{"in", in}, {"out", out}, {"bias", bias}});
}

void add_dropout(nn::ModelNode& root, std::string name, const GateModel& model) {
  if (model.dropout > 0)
    root.children.push_back(leaf(std::move(name), "dropout", {{"p", model.dropout}}));
}

nn::ModelNode mlp(const GateModel& model) {
  nn::ModelNode root{"", "sequential", {}, {}};
  for (std::int64_t i = 0; i < model.layers; ++i) {
    bool is_last = i + 1 == model.layers;
    root.children.push_back(linear(fmt::format("fc{}", i), i == 0 ? model.width : model.hidden,
                                   is_last ? model.out : model.hidden, model.bias));
    if (is_last) break;
    root.children.push_back(leaf(fmt::format("act{}", i), model.activation));
    add_dropout(root, fmt::format("drop{}", i), model);
  }
  return root;
}

nn::ModelNode linear_stack(const GateModel& model) {
  nn::ModelNode root{"", "sequential", {}, {}};
  for (std::int64_t i = 0; i < model.layers; ++i)
    root.children.push_back(linear(fmt::format("fc{}", i), model.width, model.width, model.bias));
  return root;
}

nn::ModelNode perceptron(const GateModel& model, std::int64_t hidden, const std::string& act) {
  return {"mlp",
          "sequential",
          {},
          {linear("fc1", model.width, hidden, true), leaf("act", act),
           linear("fc2", hidden, model.width, true)}};
}

nn::ModelNode feed_forward(const GateModel& model, std::int64_t index) {
  if (model.kind != ModelKind::moe) return perceptron(model, model.hidden, model.activation);
  if (index >= model.moe.dense_layers) {
    nn::ModelNode moe = leaf("mlp", "moe",
                             {{"dim", model.width},
                              {"hidden", model.hidden},
                              {"experts", model.experts},
                              {"top_k", model.top_k}});
    add_router_fields(model.moe, moe);
    return moe;
  }
  if (!model.moe.gated) return perceptron(model, model.moe.dense_hidden, "silu");
  return leaf("mlp", "gated_mlp", {{"dim", model.width}, {"hidden", model.moe.dense_hidden}});
}

nn::ModelNode block(const GateModel& model, std::int64_t index, const ModelUse& use) {
  Fields attention{{"dim", model.width}, {"heads", model.heads}, {"causal", model.causal}};
  nn::ModelNode node{fmt::format("block{}", index), "block", {}, {}};
  node.children = {leaf("norm1", model.norm, {{"dim", model.width}}),
                   leaf("attn", "attention", std::move(attention)),
                   leaf("norm2", model.norm, {{"dim", model.width}}), feed_forward(model, index)};
  if (use.checkpoint_blocks) node.fields["ac"] = true;
  return node;
}

nn::ModelNode transformer(const GateModel& model, const ModelUse& use) {
  nn::ModelNode root{"", "sequential", {}, {}};
  root.children.push_back(
      leaf("embed", "embedding", {{"num", model.vocabulary}, {"dim", model.width}}));
  root.children.push_back(leaf("pos", "position", {{"len", use.sequence}, {"dim", model.width}}));
  add_dropout(root, "drop", model);
  for (std::int64_t i = 0; i < model.layers; ++i) {
    root.children.push_back(block(model, i, use));
    add_dropout(root, fmt::format("drop{}", i), model);
  }
  root.children.push_back(leaf("norm", model.norm, {{"dim", model.width}}));
  root.children.push_back(linear("head", model.width, model.vocabulary, false));
  return root;
}

void set_checkpointing(nn::ModelNode& node) {
  if (node.kind == "block") node.fields["ac"] = true;
  for (nn::ModelNode& child : node.children) set_checkpointing(child);
}

void read_sizes(GateTable& table, GateModel& model) {
  model.layers = table.integer("layers", model.layers, {1, 256});
  model.width = table.integer("width", model.width, sizes_range);
  if (model.kind == ModelKind::linear_stack) {
    model.bias = table.boolean("bias", model.bias);
    return;
  }
  model.hidden = table.integer(
      "hidden", model.kind == ModelKind::mlp ? 2 * model.width : 4 * model.width, sizes_range);
  if (model.kind != ModelKind::moe)
    model.activation =
        table.word("activation", model.activation,
                   {"gelu", "gelu_tanh", "identity", "relu", "sigmoid", "silu", "tanh"});
  model.dropout = table.number("dropout", model.dropout, {0, 0.99});
  if (model.kind == ModelKind::mlp) {
    model.out = table.integer("out", model.out, sizes_range);
    model.bias = table.boolean("bias", model.bias);
    return;
  }
  model.heads = table.integer("heads", model.heads, sizes_range);
  model.vocabulary = table.integer("vocabulary", model.vocabulary, {1, 1 << 20});
  model.causal = table.boolean("causal", model.causal);
  model.norm = table.word("norm", model.norm, {"layer_norm", "rms_norm"});
  model.tied_head = table.boolean("tied_head", model.tied_head);
  if (model.kind != ModelKind::moe) return;
  model.experts = table.integer("experts", model.experts, {1, 1024});
  model.top_k = table.integer("top_k", std::min(model.top_k, model.experts), {1, 1024});
  if (model.top_k <= model.experts)
    model.moe = read_gate_moe(table, {model.experts, model.top_k, model.hidden});
}

void check_sizes(const GateTable& table, const GateModel& model) {
  if (!model.has_blocks()) return;
  if (model.width % model.heads != 0)
    table.reject_value("heads", fmt::format("a divisor of the width {}", model.width),
                       std::to_string(model.heads));
  if (model.kind == ModelKind::moe && model.top_k > model.experts)
    table.reject_value("top_k", fmt::format("at most the {} experts", model.experts),
                       std::to_string(model.top_k));
}

constexpr ModelKind sized_kinds[] = {ModelKind::mlp, ModelKind::transformer, ModelKind::moe,
                                     ModelKind::linear_stack};

ModelKind read_kind(GateTable& table, ModelKind otherwise) {
  std::vector<std::string> words;
  for (ModelKind kind : sized_kinds) words.emplace_back(to_string(kind));
  std::string word = table.word("kind", std::string(to_string(otherwise)), words);
  for (ModelKind kind : sized_kinds)
    if (to_string(kind) == word) return kind;
  return otherwise;
}

}  // namespace

std::string_view to_string(ModelKind kind) {
  switch (kind) {
    case ModelKind::mlp: return "mlp";
    case ModelKind::transformer: return "transformer";
    case ModelKind::moe: return "moe";
    case ModelKind::linear_stack: return "linear_stack";
    case ModelKind::nodes: return "nodes";
  }
  SIMMESH_CHECK(false, "unknown kind of model {}", int(kind));
}

GateModel read_gate_model(GateTable& table) {
  GateModel model;
  if (table.has("nodes")) {
    table.word("kind", "nodes", {"nodes"});
    model.kind = ModelKind::nodes;
    for (GateTable& node : table.tables("nodes")) model.nodes.push_back(read_node(node, 0));
    if (model.nodes.empty()) table.reject("nodes", "at least one node");
  } else {
    model.kind = read_kind(table, model.kind);
    read_sizes(table, model);
  }
  std::string dtype = table.word("dtype", std::string(to_string(model.dtype)),
                                 {"float64", "float32", "bfloat16", "float16"});
  model.dtype = dtype_from_string(dtype);
  if (auto init = table.table("init")) {
    model.init_rule = rule_from_string(init->word("rule", std::string(to_string(model.init_rule)),
                                                  {"unit", "wide", "small", "positive"}));
    model.init_scale = init->number("scale", model.init_scale, {-1e6, 1e6});
    model.init_seed = std::uint64_t(init->integer("seed", std::int64_t(model.init_seed),
                                                  {0, std::numeric_limits<std::int64_t>::max()}));
    model.init_on_meta = init->boolean("on_meta", model.init_on_meta);
    init->finish();
  }
  table.finish();
  check_sizes(table, model);
  return model;
}

nn::ModelNode model_node(const GateModel& model, const ModelUse& use) {
  if (model.kind == ModelKind::mlp) return mlp(model);
  if (model.kind == ModelKind::linear_stack) return linear_stack(model);
  if (model.has_blocks()) return transformer(model, use);
  nn::ModelNode root{"", "sequential", {}, model.nodes};
  if (use.checkpoint_blocks) set_checkpointing(root);
  return root;
}

bool has_kind(const nn::ModelNode& node, std::string_view kind) {
  if (node.kind == kind) return true;
  for (const nn::ModelNode& child : node.children)
    if (has_kind(child, kind)) return true;
  return false;
}

TrainingModel training_model(const GateModel& model, const ModelUse& use) {
  TrainingModel result;
  result.node = model_node(model, use);
  result.dtype = model.dtype;
  if (model.tied_head) result.tied = {{"head.weight", "embed.weight"}};
  nn::ModulePtr shapes = build_meta_model(result);
  std::int64_t elements = 0;
  for (const auto& [name, parameter] : shapes->named_parameters()) {
    ParameterData data;
    data.name = name;
    data.shape = parameter.shape();
    data.data.rule = model.init_rule;
    data.data.seed = model.init_seed + result.parameters.size();
    data.scale = model.init_scale;
    constexpr std::string_view weight = ".weight";
    bool is_weight = name.size() > weight.size() &&
                     name.compare(name.size() - weight.size(), weight.size(), weight) == 0;
    if (is_weight && parameter.dim() == 1) data.offset = 1.0;
    elements += parameter.numel();
    result.parameters.push_back(std::move(data));
  }
  if (elements > use.elements_max)
    raise(ErrorKind::value_error, "gate/tables/model",
          "expected at most {} elements in all parameters, got {}", use.elements_max, elements);
  return result;
}

}  // namespace simmesh
