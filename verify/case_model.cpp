#include "verify/case_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "verify/case_tensor.h"

namespace simmesh {

namespace {

constexpr std::size_t depth_max = 64;

nn::ModelNode::Field read_field(const CaseField& field) {
  if (field.is_text()) return field.text();
  if (field.is_list()) {
    std::vector<CaseField> items = field.items();
    if (items.empty() || items[0].is_text()) return field.texts();
    nn::ModelNode::NamedShapes shapes;
    for (const CaseField& item : items) {
      std::vector<CaseField> pair = item.items();
      require_elements(pair[1], pair[1].shape(), 1);
      shapes.emplace_back(pair[0].text(), pair[1].shape());
    }
    return shapes;
  }
  if (field.is_integer()) return field.integer();
  if (field.is_boolean()) return field.boolean();
  return field.number();
}

nn::ModelNode read_node_at(const CaseField& field, std::size_t depth) {
  if (depth > depth_max) field.reject("at most 64 levels of nodes");
  nn::ModelNode node;
  node.name = field["name"].text();
  node.kind = field["kind"].text();
  for (const std::string& key : field.keys()) {
    if (key == "name" || key == "kind") continue;
    if (key == "children") {
      std::set<std::string> names;
      for (const CaseField& child : field[key].items()) {
        node.children.push_back(read_node_at(child, depth + 1));
        if (node.children.back().name.empty() || !names.insert(node.children.back().name).second)
          child["name"].reject("a name of its own");
      }
    } else {
      node.fields[key] = read_field(field[key]);
    }
  }
  return node;
}

ParameterData read_parameter(const CaseField& field) {
  ParameterData parameter;
  parameter.name = field["name"].text();
  parameter.shape = field["shape"].shape();
  require_elements(field["shape"], parameter.shape, 1);
  parameter.data.rule = rule_from_string(field["rule"].text());
  parameter.data.seed = field["seed"].unsigned64();
  if (auto below = field.find("below")) parameter.data.below = below->unsigned64();
  if (auto scale = field.find("scale")) parameter.scale = scale->number();
  if (auto offset = field.find("offset")) parameter.offset = offset->number();
  return parameter;
}

Schema size_schema() { return schema::integer({.min = 1, .max = case_elements_max}); }

// Returns the fields of each kind of node, besides its name, its kind and whether it is recomputed.
std::vector<schema::Choice> node_choices() {
  using namespace schema;
  Field children = required("children", list(node_schema()));
  Field calls = optional("calls", list(text()));
  Field dim = required("dim", size_schema()), bias = required("bias", flag());
  Field eps = required("eps", number());
  Schema parameter = tuple({text(), shape_schema()});
  return {{"linear", {required("in", size_schema()), required("out", size_schema()), bias}},
          {"embedding", {required("num", size_schema()), dim}},
          {"position", {required("len", size_schema()), dim}},
          {"relu", {}},
          {"tanh", {}},
          {"silu", {}},
          {"identity", {}},
          {"gelu", {}},
          {"gelu_tanh", {}},
          {"layer_norm", {dim, eps}},
          {"rms_norm", {dim, eps}},
          {"sequential", {children, calls}},
          {"residual", {children, calls}},
          {"fan", {children}},
          {"add", {children}},
          {"attention", {dim, required("heads", size_schema()), required("causal", flag()), bias}},
          {"block", {children}},
          {"params", {required("params", list(parameter))}},
          {"module_list", {children}}};
}

}  // namespace

Schema node_schema() {
  using namespace schema;
  return named("node", [] {
    return object_by("kind", node_choices(),
                     {required("name", any_text()), optional("ac", flag())});
  });
}

Schema pipeline_model_schema() {
  using namespace schema;
  return named("model of a pipeline", [] {
    std::vector<Choice> choices = node_choices();
    choices.push_back({"sum", {}});
    choices.push_back({"take", {required("index", integer({.min = 0, .max = 64}))}});
    choices.push_back({"gate", {}});
    choices.push_back({"counter", {}});
    choices.push_back({"boom", {required("after", integer({.min = 0}))}});
    choices.push_back({"dict", {}});
    Schema child =
        object_by("kind", std::move(choices), {required("name", text()), optional("ac", flag())});
    return object({required("name", any_text()), required("kind", word({"sequential"})),
                   required("children", list(child, {.min = 1}))});
  });
}

Schema optimizer_schema() {
  using namespace schema;
  Field lr = required("lr", number()), weight_decay = required("weight_decay", number());
  Fields adam = {lr, required("betas", tuple({number(), number()})), required("eps", number()),
                 weight_decay};
  return object_by("name", {{"sgd",
                             {lr, required("momentum", number()), required("dampening", number()),
                              weight_decay, required("nesterov", flag())}},
                            {"adam", adam},
                            {"adamw", adam}});
}

schema::Fields model_fields() {
  using namespace schema;
  Schema parameter = named("parameter", [] {
    return formula_schema({required("name", text()), required("shape", shape_schema()),
                           optional("scale", number()), optional("offset", number())});
  });
  return {required("model", node_schema()), required("params", list(parameter)),
          optional("dtype", dtype_schema()), optional("tied", list(tuple({text(), text()}))),
          optional("frozen", list(text()))};
}

double number_or(const CaseField& field, std::string_view name, double otherwise) {
  auto found = field.find(name);
  return found ? found->number() : otherwise;
}

AdamSpec read_adam(const CaseField& field, optim::WeightDecay decay) {
  AdamSpec spec{.decay = decay};
  spec.options.lr = field["lr"].number();
  if (auto betas = field.find("betas")) {
    std::vector<CaseField> both = betas->items();
    spec.options.beta1 = both[0].number();
    spec.options.beta2 = both[1].number();
  }
  spec.options.eps = number_or(field, "eps", spec.options.eps);
  spec.options.weight_decay = number_or(field, "weight_decay", 0.0);
  return spec;
}

nn::ModelNode read_node(const CaseField& field) { return read_node_at(field, 0); }

TrainingModel read_model(const RecordedCase& recorded) {
  TrainingModel model;
  model.node = read_node(recorded["model"]);
  if (auto dtype = recorded.find("dtype")) model.dtype = dtype_from_string(dtype->text());
  for (const CaseField& field : recorded["params"].items())
    model.parameters.push_back(read_parameter(field));
  if (auto tied = recorded.find("tied")) {
    for (const CaseField& pair : tied->items()) {
      std::vector<std::string> names = pair.texts();
      model.tied.emplace_back(names[0], names[1]);
    }
  }
  if (auto frozen = recorded.find("frozen")) model.frozen = frozen->texts();
  return model;
}

void require_parameters(const CaseField& field, const TrainingModel& model) {
  auto text = [](const std::string& name, const Shape& shape) {
    return fmt::format("{} {}", name, to_string(DimSpan(shape)));
  };
  std::vector<std::string> given, wanted;
  for (const ParameterData& parameter : model.parameters)
    given.push_back(text(parameter.name, parameter.shape));
  for (const auto& [name, tensor] : build_meta_model(model)->named_parameters())
    wanted.push_back(text(name, tensor.shape()));
  if (given == wanted) return;
  auto differs = std::mismatch(given.begin(), given.end(), wanted.begin(), wanted.end());
  field.reject(differs.second == wanted.end()
                   ? fmt::format("{} parameters, those of the modules", wanted.size())
                   : fmt::format("the parameter {} at place {}", *differs.second,
                                 differs.second - wanted.begin()));
}

OptimizerSpec read_optimizer(const CaseField& field) {
  std::string name = field["name"].text();
  if (name == "adam") return read_adam(field, optim::WeightDecay::added);
  if (name == "adamw") return read_adam(field, optim::WeightDecay::decoupled);
  optim::SgdOptions sgd;
  sgd.lr = field["lr"].number();
  sgd.momentum = number_or(field, "momentum", 0.0);
  sgd.dampening = number_or(field, "dampening", 0.0);
  sgd.weight_decay = number_or(field, "weight_decay", 0.0);
  if (auto nesterov = field.find("nesterov")) sgd.nesterov = nesterov->boolean();
  return sgd;
}

}  // namespace simmesh
