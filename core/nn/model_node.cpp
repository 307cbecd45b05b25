#include "core/nn/model_node.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/nn/activation.h"
#include "core/nn/attention.h"
#include "core/nn/block.h"
#include "core/nn/containers.h"
#include "core/nn/convolution.h"
#include "core/nn/dropout.h"
#include "core/nn/embedding.h"
#include "core/nn/gated_mlp.h"
#include "core/nn/given_gradients.h"
#include "core/nn/linear.h"
#include "core/nn/moe.h"
#include "core/nn/normalization.h"

namespace simmesh::nn {

namespace {

constexpr std::string_view model_node_source = "nn/model_node";

// Reader takes fields from a node; its errors name the node's path.
class Reader {
 public:
  Reader(const ModelNode& node, const std::string& path, const ParameterOptions& options)
      : node_(node), path_(path), options_(options) {}

  const ModelNode& node() const { return node_; }
  const ParameterOptions& options() const { return options_; }

  template <class T>
  T get(const std::string& name) const {
    auto field = node_.fields.find(name);
    if (field == node_.fields.end())
      raise(ErrorKind::value_error, model_node_source,
            "node '{}' of kind {}: expected the field '{}'", path_, node_.kind, name);
    return as<T>(field->second, name);
  }

  template <class T>
  T get_or(const std::string& name, T otherwise) const {
    auto field = node_.fields.find(name);
    return field == node_.fields.end() ? otherwise : as<T>(field->second, name);
  }

  std::vector<NamedModule> children() const {
    std::vector<NamedModule> result;
    for (const ModelNode& child : node_.children)
      result.emplace_back(child.name, build_at(child, path_, options_));
    return result;
  }

  ModulePtr child(const std::string& name) const {
    for (const ModelNode& child : node_.children)
      if (child.name == name) return build_at(child, path_, options_);
    raise(ErrorKind::value_error, model_node_source, "node '{}' of kind {}: expected a child '{}'",
          path_, node_.kind, name);
  }

  static ModulePtr build_at(const ModelNode& node, const std::string& parent,
                            const ParameterOptions& options);

 private:
  template <class T>
  T as(const ModelNode::Field& field, const std::string& name) const {
    if constexpr (std::is_same_v<T, double>)
      if (const auto* whole = std::get_if<std::int64_t>(&field)) return double(*whole);
    if (!std::holds_alternative<T>(field))
      raise(ErrorKind::value_error, model_node_source,
            "node '{}': expected the field '{}' of another type", path_, name);
    return std::get<T>(field);
  }

  const ModelNode& node_;
  std::string path_;
  const ParameterOptions& options_;
};

template <ActivationKind kind>
ModulePtr activation(const Reader&) {
  return std::make_shared<Activation>(kind);
}

template <class Container>
ModulePtr with_calls(const Reader& from) {
  return std::make_shared<Container>(from.children(),
                                     from.get_or("calls", std::vector<std::string>()));
}

template <class Container>
ModulePtr container(const Reader& from) {
  return std::make_shared<Container>(from.children());
}

ModulePtr make_linear(const Reader& from) {
  return std::make_shared<Linear>(Linear::Options{from.get<std::int64_t>("in"),
                                                  from.get<std::int64_t>("out"),
                                                  from.get_or("bias", true), from.options()});
}

ModulePtr make_embedding(const Reader& from) {
  return std::make_shared<Embedding>(Embedding::Options{
      from.get<std::int64_t>("num"), from.get<std::int64_t>("dim"), from.options()});
}

ModulePtr make_position(const Reader& from) {
  return std::make_shared<Position>(Position::Options{
      from.get<std::int64_t>("len"), from.get<std::int64_t>("dim"), from.options()});
}

template <class Norm>
ModulePtr make_norm(const Reader& from) {
  typename Norm::Options options{from.get<std::int64_t>("dim")};
  options.eps = from.get_or("eps", options.eps);
  options.parameters = from.options();
  return std::make_shared<Norm>(options);
}

ModulePtr make_attention(const Reader& from) {
  return std::make_shared<Attention>(
      Attention::Options{from.get<std::int64_t>("dim"), from.get<std::int64_t>("heads"),
                         from.get_or("causal", false), from.get_or("bias", false), from.options()});
}

ModulePtr make_block(const Reader& from) {
  return std::make_shared<Block>(Block::Children{from.child("norm1"), from.child("attn"),
                                                 from.child("norm2"), from.child("mlp")});
}

template <class Value>
Value word_or(const Reader& from, const std::string& name, Value otherwise,
              std::optional<Value> (*from_string)(std::string_view)) {
  auto word = from.get_or(name, std::string(to_string(otherwise)));
  std::optional<Value> value = from_string(word);
  if (!value)
    raise(ErrorKind::value_error, model_node_source, "expected a known {}, got '{}'", name, word);
  return *value;
}

RouterOptions router_options(const Reader& from) {
  RouterOptions router;
  router.score = word_or(from, "score", router.score, router_score_from_string);
  router.normalizes = from.get_or("normalize", router.normalizes);
  router.scaling = from.get_or("scaling", router.scaling);
  router.groups = from.get_or("groups", router.groups);
  router.top_groups = from.get_or("top_groups", router.groups);
  router.drop = word_or(from, "drop", router.drop, drop_order_from_string);
  router.aux_loss = from.get_or("aux_loss", router.aux_loss);
  router.z_loss = from.get_or("z_loss", router.z_loss);
  router.bias_rate = from.get_or("bias_rate", router.bias_rate);
  router.force_load_balance = from.get_or("force_load_balance", router.force_load_balance);
  return router;
}

ModulePtr make_moe(const Reader& from) {
  Moe::Options options{from.get<std::int64_t>("dim"), from.get<std::int64_t>("hidden"),
                       from.get<std::int64_t>("experts")};
  options.top_k = from.get_or("top_k", options.top_k);
  options.shared = from.get_or("shared", options.shared);
  options.capacity_factor = from.get_or("capacity_factor", options.capacity_factor);
  options.gated = from.get_or("gated", options.gated);
  options.parameters = from.options();
  options.router = router_options(from);
  return std::make_shared<Moe>(options);
}

ModulePtr make_gated_mlp(const Reader& from) {
  return std::make_shared<GatedMlp>(GatedMlp::Options{.width = from.get<std::int64_t>("dim"),
                                                      .hidden = from.get<std::int64_t>("hidden"),
                                                      .parameters = from.options()});
}

ModulePtr make_conv2d(const Reader& from) {
  return std::make_shared<Conv2d>(Conv2d::Options{
      from.get<std::int64_t>("in"), from.get<std::int64_t>("out"), from.get<std::int64_t>("size"),
      from.get_or("stride", std::int64_t(1)), from.get_or("padding", std::int64_t(0)),
      from.get_or("bias", true), from.options()});
}

ModulePtr make_params(const Reader& from) {
  return std::make_shared<GivenGradients>(from.get<ModelNode::NamedShapes>("params"),
                                          from.options());
}

ModulePtr make_dropout(const Reader& from) {
  return std::make_shared<Dropout>(from.get_or("p", 0.5));
}

struct Kind {
  std::string_view name;
  ModulePtr (*make)(const Reader& from);
  std::vector<std::string> fields;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"add", container<Add>, {}},
      {"attention", make_attention, {"dim", "heads", "causal", "bias"}},
      {"block", make_block, {}},
      {"conv2d", make_conv2d, {"in", "out", "size", "stride", "padding", "bias"}},
      {"dropout", make_dropout, {"p"}},
      {"embedding", make_embedding, {"num", "dim"}},
      {"fan", container<Fan>, {}},
      {"gated_mlp", make_gated_mlp, {"dim", "hidden"}},
      {"gelu", activation<ActivationKind::gelu>, {}},
      {"gelu_tanh", activation<ActivationKind::gelu_tanh>, {}},
      {"identity", activation<ActivationKind::identity>, {}},
      {"layer_norm", make_norm<LayerNorm>, {"dim", "eps"}},
      {"linear", make_linear, {"in", "out", "bias"}},
      {"module_list", container<ModuleList>, {}},
      {"moe",
       make_moe,
       {"dim", "hidden", "experts", "top_k", "shared", "capacity_factor", "drop", "score",
        "normalize", "scaling", "groups", "top_groups", "aux_loss", "z_loss", "bias_rate", "gated",
        "force_load_balance"}},
      {"params", make_params, {"params"}},
      {"position", make_position, {"len", "dim"}},
      {"relu", activation<ActivationKind::relu>, {}},
      {"residual", with_calls<Residual>, {"calls"}},
      {"rms_norm", make_norm<RMSNorm>, {"dim", "eps"}},
      {"sequential", with_calls<Sequential>, {"calls"}},
      {"sigmoid", activation<ActivationKind::sigmoid>, {}},
      {"silu", activation<ActivationKind::silu>, {}},
      {"tanh", activation<ActivationKind::tanh>, {}},
  };
  return all;
}

const Kind* find_kind(std::string_view name) {
  for (const Kind& kind : kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

ModulePtr Reader::build_at(const ModelNode& node, const std::string& parent,
                           const ParameterOptions& options) {
  std::string path = parent.empty() ? node.name : parent + "." + node.name;
  const Kind* kind = find_kind(node.kind);
  if (!kind)
    raise(ErrorKind::value_error, model_node_source, "node '{}': expected a kind of {}, got '{}'",
          path, join_text(model_node_kinds(), ", "), node.kind);
  for (const auto& [name, field] : node.fields)
    if (name != "ac" &&
        std::find(kind->fields.begin(), kind->fields.end(), name) == kind->fields.end())
      raise(ErrorKind::value_error, model_node_source,
            "node '{}' of kind {}: expected one of the fields ac {}, got '{}'", path, node.kind,
            join_text(kind->fields, " "), name);
  Reader from(node, path, options);
  ModulePtr module = kind->make(from);
  if (from.get_or("ac", false)) module->set_checkpointing(CheckpointOptions{});
  return module;
}

}  // namespace

std::vector<std::string> model_node_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> fields_of(std::string_view name) {
  const Kind* kind = find_kind(name);
  if (!kind) return {};
  std::vector<std::string> fields = kind->fields;
  fields.push_back("ac");
  return fields;
}

ModulePtr build(const ModelNode& node, const ParameterOptions& options) {
  return Reader::build_at(node, "", options);
}

}  // namespace simmesh::nn
