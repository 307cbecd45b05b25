#include "training/unused_experts.h"

#include "core/autograd/variable.h"
#include "fsdp/named_params.h"
#include "sharding/parallel/expert_parallel.h"

namespace simmesh {

UnusedExperts::UnusedExperts(nn::Module& model) {
  for (const fsdp::NamedParam& param : fsdp::named_params(model))
    if (!group_ && is_expert_parameter(model, param.name))
      group_ = ProcessGroup::of(param.group->mesh().mesh.ranks(), "experts");
  if (group_) calls_.emplace(model);
}

void UnusedExperts::drop_gradients() {
  if (!group_) return;
  for (const ExpertCalls::Expert& expert : calls_->take_uncalled(*group_))
    for (Tensor& parameter : expert.module->parameters()) set_grad(parameter, Tensor());
}

}  // namespace simmesh
