#include "verify/case_model.h"

#include <nlohmann/json.hpp>

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
      if (pair.size() != 2) item.reject("a name and a shape");
      require_elements(pair[1], pair[1].shape(), 1);
      shapes.emplace_back(pair[0].text(), pair[1].shape());
    }
    return shapes;
  }
  if (field.is_integer()) return field.integer();
  if (field.value().is_boolean()) return field.boolean();
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
      for (const CaseField& child : field[key].items())
        node.children.push_back(read_node_at(child, depth + 1));
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
  if (auto scale = field.find("scale")) parameter.scale = scale->number();
  if (auto offset = field.find("offset")) parameter.offset = offset->number();
  return parameter;
}

}  // namespace

double number_or(const CaseField& field, std::string_view name, double otherwise) {
  auto found = field.find(name);
  return found ? found->number() : otherwise;
}

AdamSpec read_adam(const CaseField& field, optim::WeightDecay decay) {
  AdamSpec spec{.decay = decay};
  spec.options.lr = field["lr"].number();
  if (auto betas = field.find("betas")) {
    std::vector<CaseField> both = betas->items();
    if (both.size() != 2) betas->reject("two numbers");
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
      if (names.size() != 2) pair.reject("two names");
      model.tied.emplace_back(names[0], names[1]);
    }
  }
  if (auto frozen = recorded.find("frozen")) model.frozen = frozen->texts();
  return model;
}

OptimizerSpec read_optimizer(const CaseField& field) {
  std::string name = field["name"].text();
  if (name == "adam") return read_adam(field, optim::WeightDecay::added);
  if (name == "adamw") return read_adam(field, optim::WeightDecay::decoupled);
  if (name != "sgd") field["name"].reject("sgd, adam or adamw");
  optim::SgdOptions sgd;
  sgd.lr = field["lr"].number();
  sgd.momentum = number_or(field, "momentum", 0.0);
  sgd.dampening = number_or(field, "dampening", 0.0);
  sgd.weight_decay = number_or(field, "weight_decay", 0.0);
  if (auto nesterov = field.find("nesterov")) sgd.nesterov = nesterov->boolean();
  return sgd;
}

}  // namespace simmesh
