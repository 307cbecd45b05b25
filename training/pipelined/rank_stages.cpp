#include "training/pipelined/rank_stages.h"

#include <algorithm>
#include <map>

#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/ops/functions/default_generator.h"

namespace simmesh {

namespace {

using PartModules = std::map<std::string, nn::ModulePtr>;  // by path

// Makes a container of those parts below a node that a rank has; null without any.
nn::ModulePtr assembled(const nn::ModelNode& node, const std::string& path,
                        const PartModules& parts) {
  if (auto part = parts.find(path); part != parts.end()) return part->second;
  std::vector<nn::NamedModule> children;
  for (const nn::ModelNode& child : node.children) {
    nn::ModulePtr module =
        assembled(child, path.empty() ? child.name : path + "." + child.name, parts);
    if (module) children.emplace_back(child.name, std::move(module));
  }
  if (children.empty()) return nullptr;
  return std::make_shared<nn::Sequential>(std::move(children));
}

PartModules built_parts(const TrainingModel& model, const StagePlan& plan, std::int64_t stage,
                        nn::Device device) {
  PartModules parts;
  for (const StagePlan::Part& part : plan.parts) {
    if (part.stage != stage) continue;
    nn::ModulePtr module = nn::build(part.node, {.dtype = model.dtype, .device = nn::Device::meta});
    if (device != nn::Device::meta) module->to_empty();
    parts[part.path] = std::move(module);
  }
  return parts;
}

// Ties and freezes what this stage has.
void tie_and_freeze(nn::Module& stage, const TrainingModel& model, const StagePlan& plan,
                    std::int64_t index) {
  for (const auto& [slot, other] : model.tied) {
    if (plan.stage_of(slot) != index || plan.stage_of(other) != index) continue;
    SlotPath to = find_slot(stage, slot), from = find_slot(stage, other);
    to.module->set_parameter(to.name, from.module->parameter(from.name));
  }
  for (const std::string& name : model.frozen) {
    if (plan.stage_of(name) != index) continue;
    Tensor parameter = find_slot(stage, name).tensor();
    set_requires_grad(parameter, false);
  }
}

}  // namespace

std::vector<TiedCopy> tied_copies(const TrainingModel& model, const StagePlan& plan) {
  std::vector<TiedCopy> copies;
  for (const auto& [slot, other] : model.tied)
    if (plan.stage_of(slot) != plan.stage_of(other)) copies.push_back({slot, other});
  return copies;
}

RankStages::RankStages(const TrainingModel& model, const StagePlan& plan,
                       const std::vector<std::int64_t>& own, nn::Device device) {
  Ledger::Category category(MemoryCategory::parameter);
  // Ranks build different parts, and must go on with the same random numbers.
  Generator before = default_generator();
  PartModules all;
  for (std::int64_t stage : own) {
    PartModules parts = built_parts(model, plan, stage, device);
    stages_.push_back(assembled(plan.model, "", parts));
    tie_and_freeze(*stages_.back(), model, plan, stage);
    if (device != nn::Device::meta) fill_model(*stages_.back(), model);
    all.merge(parts);
  }
  default_generator() = before;
  all_ = stages_.size() == 1 ? stages_.front() : assembled(plan.model, "", all);
}

}  // namespace simmesh
