#include "sharding/debug/module_tracker.h"

#include <algorithm>

#include "core/autograd/function.h"

namespace simmesh {

namespace {

// Calls `seen` when the gradient of a tensor passes in a backward pass.
void when_gradient_passes(Tensor& tensor, std::string name, std::function<void()> seen) {
  if (!tensor.is_defined() || !tensor.requires_grad()) return;
  Tensor passed = tensor.detach();
  record_function(std::move(name), {tensor}, {&passed},
                  [seen = std::move(seen)](const std::vector<Tensor>& gradients) {
                    seen();
                    return gradients;
                  },
                  {.passes_on = true});
  tensor = passed;
}

}  // namespace

void ModuleTracker::State::leave_backward(const std::string& path) {
  auto last = std::find(backward.rbegin(), backward.rend(), path);
  if (last != backward.rend()) backward.erase(last.base() - 1, backward.end());
}

ModuleTracker::ModuleTracker(nn::Module& model) : state_(std::make_shared<State>()) {
  for (const auto& [path, module] : model.named_modules()) watch(*module, path, state_);
}

void ModuleTracker::watch(nn::Module& module, const std::string& path,
                          const std::weak_ptr<State>& watched) {
  module.add_first_pre_hook([path, watched](nn::Module&, nn::Tensors inputs) {
    auto state = watched.lock();
    if (!state) return inputs;
    // A model whose earlier forward failed left its modules open.
    if (path.empty()) state->forward.clear();
    state->forward.push_back(path);
    auto left = std::make_shared<std::size_t>(
        std::count_if(inputs.begin(), inputs.end(),
                      [](const Tensor& x) { return x.is_defined() && x.requires_grad(); }));
    for (Tensor& input : inputs)
      when_gradient_passes(input, "leave_module", [path, watched, left] {
        auto still = watched.lock();
        if (still && --*left == 0) still->leave_backward(path);
      });
    return inputs;
  });
  module.add_hook([path, watched](nn::Module&, const nn::Tensors&, nn::Tensors outputs) {
    auto state = watched.lock();
    if (!state) return outputs;
    if (!state->forward.empty()) state->forward.pop_back();
    for (Tensor& output : outputs)
      when_gradient_passes(output, "enter_module", [path, watched] {
        auto still = watched.lock();
        if (!still) return;
        if (path.empty()) still->backward.clear();
        still->backward.push_back(path);
      });
    return outputs;
  });
}

ModuleTracker::Where ModuleTracker::where() const {
  if (!state_->forward.empty()) return {state_->forward.back(), false, false};
  if (!state_->backward.empty()) return {state_->backward.back(), true, false};
  return {};
}

std::string to_string(const ModuleTracker::Where& where) {
  if (where.is_outside) return "(outside)";
  return (where.module.empty() ? "(model)" : where.module) +
         (where.is_backward ? " backward" : " forward");
}

}  // namespace simmesh
