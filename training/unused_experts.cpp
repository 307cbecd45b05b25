#include "training/unused_experts.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/autograd/variable.h"
#include "core/nn/moe.h"
#include "core/nn/moe_routing.h"
#include "fsdp/named_params.h"
#include "sharding/parallel/expert_parallel.h"

namespace simmesh {

UnusedExperts::UnusedExperts(nn::Module& model)
    : calls_(std::make_shared<std::vector<std::int64_t>>()) {
  for (const fsdp::NamedParam& param : fsdp::named_params(model))
    if (!group_ && is_expert_parameter(model, param.name))
      group_ = ProcessGroup::of(param.group->mesh().mesh.ranks(), "experts");
  if (!group_) return;
  for (const auto& [path, module] : model.named_modules())
    if (dynamic_cast<nn::Moe*>(module))
      for (const auto& [name, expert] : module->child("experts").children())
        if (!expert->parameters().empty()) experts_.push_back(expert);
  calls_->assign(experts_.size(), 0);
  for (std::size_t i = 0; i < experts_.size(); ++i)
    experts_[i]->add_pre_hook([calls = calls_, i](nn::Module&, nn::Tensors inputs) {
      ++(*calls)[i];
      return inputs;
    });
}

void UnusedExperts::drop_gradients() {
  if (!group_) return;
  Tensor total = nn::index_tensor(*calls_);
  if (group_->size() > 1) total = all_reduce(total, ReduceOp::sum, *group_);
  auto calls = total.values<std::int64_t>();
  for (std::size_t i = 0; i < experts_.size(); ++i)
    if (calls[i] == 0)
      for (Tensor& parameter : experts_[i]->parameters()) set_grad(parameter, Tensor());
  std::fill(calls_->begin(), calls_->end(), 0);
}

}  // namespace simmesh
