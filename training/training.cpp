#include "training/training.h"

#include <fmt/format.h>
#include <map>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/nn/moe.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "sharding/optim/distributed_muon.h"

namespace simmesh {

namespace {

constexpr std::string_view training_source = "training/training";

}  // namespace

SlotPath find_slot(nn::Module& model, const std::string& path) {
  std::size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {&model, path};
  return {&model.find(path.substr(0, dot)), path.substr(dot + 1)};
}

Tensor parameter_values(const ParameterData& parameter, DType dtype) {
  Formula data = parameter.data;
  data.dtype = DType::float64;
  Tensor values = formula(parameter.shape, data);
  if (values.has_elements())
    for (double& value : values.mutable_values<double>())
      value = value * parameter.scale + parameter.offset;
  return converted(values, dtype);
}

namespace {

nn::ModulePtr build_tied(const TrainingModel& model, bool on_meta) {
  nn::ModulePtr built = nn::build(model.node, {.dtype = model.dtype, .device = nn::Device::meta});
  if (!on_meta) built->to_empty();
  for (const auto& [slot, other] : model.tied) {
    SlotPath to = find_slot(*built, slot), from = find_slot(*built, other);
    to.module->set_parameter(to.name, from.module->parameter(from.name));
  }
  for (const std::string& name : model.frozen) {
    SlotPath path = find_slot(*built, name);
    Tensor parameter = path.module->parameter(path.name);
    set_requires_grad(parameter, false);
  }
  return built;
}

}  // namespace

nn::ModulePtr build_meta_model(const TrainingModel& model) { return build_tied(model, true); }

nn::ModulePtr build_model(const TrainingModel& model) {
  Ledger::Category category(MemoryCategory::parameter);
  nn::ModulePtr built = build_tied(model, false);
  fill_model(*built, model);
  return built;
}

void fill_model(nn::Module& model, const TrainingModel& values) {
  std::map<std::string, const ParameterData*> by_name;
  for (const ParameterData& parameter : values.parameters) by_name[parameter.name] = &parameter;
  for (auto& [path, parameter] : model.named_parameters()) {
    auto found = by_name.find(path);
    for (const auto& [slot, other] : values.tied)
      if (found == by_name.end() && slot == path) found = by_name.find(other);
    if (found == by_name.end())
      raise(ErrorKind::value_error, training_source,
            "expected values for the parameter {}, got none", path);
    const ParameterData* given = found->second;
    if (given->shape != parameter.shape())
      raise(ErrorKind::value_error, training_source, "parameter {}: expected the shape {}, got {}",
            path, to_string(DimSpan(parameter.shape())), to_string(DimSpan(given->shape)));
    Tensor data = parameter.detach();
    copy_(data, parameter_values(*given, values.dtype));
  }
  for (const auto& [path, module] : model.named_modules())
    if (auto* moe = dynamic_cast<nn::Moe*>(module); moe && moe->bias().is_defined())
      moe->set_bias(zeros_like(moe->bias()));
}

std::string_view to_string(LossKind kind) {
  return kind == LossKind::mse ? "mse" : kind == LossKind::dot ? "dot" : "cross_entropy";
}

std::string_view to_string(TrainPhase phase) {
  return phase == TrainPhase::forward    ? "forward"
         : phase == TrainPhase::backward ? "backward"
                                         : "optimizer";
}

std::optional<LossKind> loss_from_string(std::string_view name) {
  for (LossKind kind : {LossKind::mse, LossKind::cross_entropy, LossKind::dot})
    if (to_string(kind) == name) return kind;
  return std::nullopt;
}

namespace {

// Makes a group of each run of parameters of one kind, so that they stay in order.
std::vector<optim::TorchMuon::Group> muon_groups(const MuonSpec& spec,
                                                 const std::vector<Tensor>& parameters,
                                                 const std::vector<Shape>& shapes) {
  optim::TorchMuonOptions others = spec.muon;
  others.lr = spec.others.options.lr;
  others.weight_decay = spec.others.options.weight_decay;
  others.adam = spec.others.options;
  others.adam_decay = spec.others.decay;
  std::vector<optim::TorchMuon::Group> groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    bool is_matrix = shapes[i].size() == 2;
    if (groups.empty() || groups.back().options.adam.has_value() == is_matrix)
      groups.push_back({{}, is_matrix ? spec.muon : others});
    groups.back().parameters.push_back(parameters[i]);
  }
  return groups;
}

}  // namespace

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& pieces,
                                                 const std::vector<Shape>& shapes) {
  if (const auto* muon = std::get_if<MuonSpec>(&spec))
    return std::make_unique<optim::TorchMuon>(muon_groups(*muon, pieces, shapes),
                                              optim::TorchMuon::Parts::flat_pieces);
  return make_optimizer(spec, pieces);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerSpec& spec,
                                                 const std::vector<Tensor>& parameters) {
  if (const auto* muon = std::get_if<MuonSpec>(&spec)) {
    std::vector<Shape> shapes;
    for (const Tensor& parameter : parameters) shapes.push_back(parameter.shape());
    return std::make_unique<DistributedMuon>(muon_groups(*muon, parameters, shapes));
  }
  if (const auto* sgd = std::get_if<optim::SgdOptions>(&spec))
    return std::make_unique<optim::Sgd>(parameters, *sgd);
  const AdamSpec& adam = std::get<AdamSpec>(spec);
  return std::make_unique<optim::Adam>(parameters, adam.options, adam.decay);
}

}  // namespace simmesh
