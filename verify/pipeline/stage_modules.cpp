#include "verify/pipeline/stage_modules.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/reordering.h"

namespace simmesh {

namespace {

constexpr const char* stage_modules_where = "verify/pipeline";

// Adds its arguments.
struct SumNode final : nn::Module {
  nn::Tensors forward(const nn::Tensors& inputs) override {
    Tensor total = inputs.at(0);
    for (std::size_t i = 1; i < inputs.size(); ++i) total = add(total, inputs[i]);
    return {total};
  }
};

// Returns one of its arguments.
struct TakeNode final : nn::Module {
  explicit TakeNode(std::int64_t taken) : index(std::size_t(taken)) {}
  nn::Tensors forward(const nn::Tensors& inputs) override { return {inputs.at(index)}; }
  std::size_t index;
};

// Multiplies the first half of the last dim by the second half.
struct GateNode final : nn::Module {
  nn::Tensors forward(const nn::Tensors& inputs) override {
    std::vector<Tensor> halves = tensor_split(inputs.at(0), std::int64_t(2), -1);
    return {mul(halves[0], halves[1])};
  }
};

// Counts its calls in a buffer.
struct CounterNode final : nn::Module {
  CounterNode() { register_buffer("calls", zeros({}, DType::int64)); }
  nn::Tensors forward(const nn::Tensors& inputs) override {
    Tensor& calls = buffers().front().tensor;
    copy_(calls, add(calls, 1));
    return {mul(inputs.at(0), 1)};
  }
};

// Raises an error at the call after some others.
struct BoomNode final : nn::Module {
  explicit BoomNode(std::int64_t calls) : after(calls) {}
  nn::Tensors forward(const nn::Tensors& inputs) override {
    if (after-- == 0) raise(ErrorKind::value_error, stage_modules_where, "boom");
    return inputs;
  }
  std::int64_t after;
};

// Returns what isn't a list of tensors.
struct DictNode final : nn::Module {
  nn::Tensors forward(const nn::Tensors&) override { return {Tensor()}; }
};

nn::ModulePtr build_stage_node(const nn::ModelNode& node, DType dtype) {
  auto number = [&](const char* field) { return std::get<std::int64_t>(node.fields.at(field)); };
  if (node.kind == "sum") return std::make_shared<SumNode>();
  if (node.kind == "take") return std::make_shared<TakeNode>(number("index"));
  if (node.kind == "gate") return std::make_shared<GateNode>();
  if (node.kind == "counter") return std::make_shared<CounterNode>();
  if (node.kind == "boom") return std::make_shared<BoomNode>(number("after"));
  if (node.kind == "dict") return std::make_shared<DictNode>();
  nn::ModulePtr module = nn::build(node, {.dtype = dtype, .device = nn::Device::meta});
  module->to_empty();
  return module;
}

// Ties the slots of a pair whose modules are both on this rank.
void tie_local(const std::vector<nn::ModulePtr>& modules,
               const std::pair<std::string, std::string>& pair) {
  auto find_local = [&](const std::string& path) -> std::optional<SlotPath> {
    for (const nn::ModulePtr& module : modules)
      for (const auto& [name, tensor] : module->state_dict())
        if (name == path) return find_slot(*module, path);
    return std::nullopt;
  };
  std::optional<SlotPath> to = find_local(pair.first), from = find_local(pair.second);
  if (to && from) to->module->set_parameter(to->name, from->module->parameter(from->name));
}

void fill(nn::Module& module, const TrainingModel& model) {
  for (auto& [name, parameter] : module.named_parameters()) {
    auto given = std::find_if(model.parameters.begin(), model.parameters.end(),
                              [&name = name](const ParameterData& p) { return p.name == name; });
    bool is_tied = std::any_of(model.tied.begin(), model.tied.end(),
                               [&name = name](const auto& pair) { return pair.first == name; });
    if (given == model.parameters.end() && is_tied) continue;
    if (given == model.parameters.end() || given->shape != parameter.shape())
      raise(ErrorKind::value_error, stage_modules_where,
            "expected values for the parameter {} of the shape {}", name,
            to_string(DimSpan(parameter.shape())));
    Tensor data = parameter.detach();
    copy_(data, parameter_values(*given, model.dtype));
    if (std::find(model.frozen.begin(), model.frozen.end(), name) != model.frozen.end())
      set_requires_grad(parameter, false);
  }
}

}  // namespace

std::vector<nn::ModulePtr> build_stage_modules(
    const TrainingModel& model, const std::vector<std::vector<std::string>>& stages) {
  Ledger::Category category(MemoryCategory::parameter);
  std::vector<nn::ModulePtr> modules;
  for (const std::vector<std::string>& names : stages) {
    std::vector<nn::NamedModule> children;
    for (const std::string& name : names) {
      auto node = std::find_if(model.node.children.begin(), model.node.children.end(),
                               [&](const nn::ModelNode& child) { return child.name == name; });
      if (node == model.node.children.end())
        raise(ErrorKind::value_error, stage_modules_where, "expected a child of the model, got {}",
              name);
      children.emplace_back(name, build_stage_node(*node, model.dtype));
    }
    modules.push_back(std::make_shared<nn::Sequential>(std::move(children)));
  }
  for (const auto& pair : model.tied) tie_local(modules, pair);
  for (const nn::ModulePtr& module : modules) fill(*module, model);
  return modules;
}

}  // namespace simmesh
