#include "training/expert_routing.h"

#include "core/nn/moe.h"
#include "core/ops/elementwise/inplace.h"

namespace simmesh {

namespace {

template <class Each>
void for_each_moe(nn::Module& model, const Each& each) {
  for (const auto& [path, module] : model.named_modules())
    if (auto* moe = dynamic_cast<nn::Moe*>(module)) each(*moe);
}

}  // namespace

void route_all_tokens(nn::Module& model, const TrainingTask& task, const ParallelForm& form) {
  nn::Moe::TokenPart part{.loss_gradient = form.gradient_divisor / double(task.micro_batches)};
  if (form.parts > 1 && !form.part_of_rows) {
    part.part = form.part;
    part.parts = form.parts;
    part.sum = form.all_sum;
  }
  for_each_moe(model, [&](nn::Moe& moe) {
    moe.set_token_part(part);
    // A model that was built on the meta device has no values there yet.
    for (nn::ParameterSlot& bias : moe.buffers()) zero_(bias.tensor);
  });
}

void update_expert_biases(nn::Module& model) {
  for_each_moe(model, [](nn::Moe& moe) { moe.update_bias(); });
}

}  // namespace simmesh
