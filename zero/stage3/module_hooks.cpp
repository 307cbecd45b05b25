#include "zero/stage3/module_hooks.h"

#include <algorithm>

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "zero/stage3/module_state.h"
#include "zero/stage3/stage3.h"

namespace simmesh::zero {

namespace {

void watch(const char* name, Tensor& tensor, std::function<void()> act) {
  record_function(name, {tensor}, {&tensor},
                  [act = std::move(act)](const std::vector<Tensor>& gradients) {
                    act();
                    return gradients;
                  },
                  {.passes_on = true});
}

bool is_watched(const Tensor& tensor) { return tensor.is_defined() && tensor.requires_grad(); }

}  // namespace

ModuleHooks::ModuleHooks(Stage3& stage)
    : stage_(stage), leaf_of_(stage.params().size(), -1), kept_(stage.params().size()) {
  for (std::size_t i = 0; i < stage_.params().size(); ++i)
    by_storage_[stage_.params()[ParamId(i)].leaf().storage().get()] = ParamId(i);
  const FetchGraph& graph = stage_.coordinator().graph();
  std::vector<int> users(stage_.params().size());
  for (std::size_t m = 0; m < graph.module_count(); ++m) {
    const FetchModule& module = graph.module(ModuleId(m));
    for (ParamId id : module.is_leaf ? module.below : module.own) ++users[std::size_t(id)];
  }
  for (std::size_t m = 0; m < graph.module_count(); ++m) {
    if (!graph.is_leaf(ModuleId(m))) continue;
    Leaf& leaf = leaves_[ModuleId(m)];
    for (ParamId id : graph.module(ModuleId(m)).below) {
      if (!graph.param(id).requires_grad || users[std::size_t(id)] != 1) continue;
      leaf.params.push_back(id);
      leaf_of_[std::size_t(id)] = ModuleId(m);
    }
  }
}

void ModuleHooks::install(Stage3& stage) {
  auto hooks = std::make_shared<ModuleHooks>(stage);
  hooks->put_on_modules();
  hooks->put_on_parameters();
  stage.attach(hooks, [&hooks = *hooks] { hooks.end_backward(); });
}

void ModuleHooks::put_on_modules() {
  std::weak_ptr<ModuleHooks> weak = weak_from_this();
  for (const auto& [name, module] : stage_.index().modules()) {
    ModuleId id = stage_.index().module_id(*module);
    module->add_first_pre_hook([weak, id](nn::Module&, nn::Tensors inputs) {
      auto hooks = weak.lock();
      return hooks ? hooks->before_forward(id, std::move(inputs)) : inputs;
    });
    module->add_hook([weak, id](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
      auto hooks = weak.lock();
      return hooks ? hooks->after_forward(id, std::move(outputs)) : outputs;
    });
    ModuleState::of(*module).on_failure = [weak, id](nn::Module&) {
      if (auto hooks = weak.lock()) hooks->failed(id);
    };
  }
  for (auto& [name, module] : stage_.index().root().named_modules()) {
    ModuleState& state = ModuleState::of(*module);
    state.hooks = weak;
    state.on_read = [weak](const nn::Module&, const nn::ParameterSlot& slot) {
      if (auto hooks = weak.lock()) hooks->read(slot);
    };
  }
}

void ModuleHooks::put_on_parameters() {
  std::weak_ptr<ModuleHooks> weak = weak_from_this();
  for (std::size_t i = 0; i < stage_.params().size(); ++i) {
    Tensor& leaf = stage_.params()[ParamId(i)].leaf();
    if (!leaf.requires_grad()) continue;
    register_accumulate_hook(leaf, [weak, i](Tensor& ready) {
      if (auto hooks = weak.lock()) hooks->gradient_came(ParamId(i), ready);
    });
  }
}

nn::Tensors ModuleHooks::before_forward(ModuleId module, nn::Tensors inputs) {
  if (module == 0) {
    running_.clear();
    stage_.coordinator().reset();
  }
  running_.push_back(module);
  stage_.coordinator().enter(module, Pass::forward);
  if (auto leaf = leaves_.find(module); leaf != leaves_.end() && grad_enabled())
    ++leaf->second.calls;
  watch_inputs(module, inputs);
  return inputs;
}

nn::Tensors ModuleHooks::after_forward(ModuleId module, nn::Tensors outputs) {
  if (!running_.empty() && running_.back() == module) running_.pop_back();
  find_returned(outputs);
  stage_.coordinator().leave(module, Pass::forward);
  watch_outputs(module, outputs);
  return outputs;
}

// A forward that raised, as the last one of a recomputation that stops early, is not left.
void ModuleHooks::failed(ModuleId module) {
  if (!running_.empty() && running_.back() == module) running_.pop_back();
  stage_.coordinator().abandon(module);
}

void ModuleHooks::read(const nn::ParameterSlot& slot) {
  if (running_.empty()) return;
  auto found = by_storage_.find(slot.tensor.storage().get());
  if (found == by_storage_.end()) return;
  if (stage_.coordinator().status(found->second) != ParamStatus::available)
    stage_.register_external(running_.back(), found->second);
}

void ModuleHooks::find_returned(const nn::Tensors& outputs) {
  if (running_.empty()) return;
  for (const Tensor& output : outputs) {
    if (!output.is_defined()) continue;
    auto found = by_storage_.find(output.storage().get());
    if (found != by_storage_.end()) stage_.register_external(running_.back(), found->second, true);
  }
}

void ModuleHooks::watch_inputs(ModuleId module, nn::Tensors& inputs) {
  if (!grad_enabled()) return;
  auto remaining = std::make_shared<std::size_t>(
      std::size_t(std::count_if(inputs.begin(), inputs.end(), is_watched)));
  for (Tensor& input : inputs) {
    if (!is_watched(input)) continue;
    watch("PostBackward", input, [weak = weak_from_this(), module, remaining] {
      auto hooks = weak.lock();
      if (--*remaining == 0 && hooks) hooks->leave_backward(module);
    });
  }
}

void ModuleHooks::watch_outputs(ModuleId module, nn::Tensors& outputs) {
  if (!grad_enabled()) return;
  for (Tensor& output : outputs) {
    if (!is_watched(output)) continue;
    watch("PreBackward", output, [weak = weak_from_this(), module] {
      if (auto hooks = weak.lock()) hooks->enter_backward(module);
    });
  }
}

void ModuleHooks::enter_backward(ModuleId module) {
  if (auto leaf = leaves_.find(module); leaf != leaves_.end()) leaf->second.has_begun = true;
  stage_.coordinator().enter(module, Pass::backward);
}

void ModuleHooks::leave_backward(ModuleId module) {
  auto leaf = leaves_.find(module);
  if (leaf != leaves_.end() && --leaf->second.calls == 0) pass_on(leaf->second);
  stage_.coordinator().leave(module, Pass::backward);
}

void ModuleHooks::gradient_came(ParamId param, Tensor& leaf) {
  Tensor gradient = grad_of(leaf);
  set_grad(leaf, Tensor());
  ModuleId module = leaf_of_[std::size_t(param)];
  if (module < 0) return stage_.add_gradient(param, gradient);
  leaves_[module].has_begun = true;
  Tensor& kept = kept_[std::size_t(param)];
  KeepUnrounded scope;
  kept = kept.is_defined() ? add(kept, gradient) : gradient;
}

void ModuleHooks::pass_on(Leaf& leaf) {
  if (!leaf.has_begun) return;
  leaf.has_begun = false;
  for (ParamId id : leaf.params)
    stage_.add_gradient(id, std::exchange(kept_[std::size_t(id)], Tensor()));
}

void ModuleHooks::end_backward() {
  for (auto& [module, leaf] : leaves_) {
    pass_on(leaf);
    leaf.calls = 0;
  }
}

Stage3* stage_of(const nn::Module& module) {
  const ModuleState* state = ModuleState::find(module);
  auto hooks = state ? state->hooks.lock() : nullptr;
  return hooks ? &hooks->stage() : nullptr;
}

std::unique_ptr<Stage> make_stage3(const StageSetup& setup) {
  auto stage = std::make_unique<Stage3>(setup);
  ModuleHooks::install(*stage);
  return stage;
}

}  // namespace simmesh::zero
