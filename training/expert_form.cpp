#include "training/expert_form.h"

#include "fsdp/named_params.h"
#include "training/spread_parameters.h"
#include "training/unused_experts.h"

namespace simmesh {

namespace {

// The mean of a group's gradients would be over its own ranks, and so too large by the number of
// ranks whose rows come to the experts. So they are divided as the form's other gradients are.
void divide_as_others(nn::Module& model, double divisor) {
  for (fsdp::FSDPParamGroup* group : fsdp::groups_of(model))
    if (group->is_own_mesh()) group->settings().divide_factor = divisor;
}

}  // namespace

ParallelForm with_experts(ParallelForm form, const ExpertParallel& style, const DeviceMesh& mesh) {
  form.spread = std::make_shared<std::optional<SpreadParameters>>();
  auto unused = std::make_shared<std::optional<UnusedExperts>>();
  form.prepare = [style, mesh, unused, spread = form.spread, divisor = form.gradient_divisor,
                  next = std::move(form.prepare)](nn::Module& model) {
    auto is_expert = [&](const std::string& path) { return is_expert_parameter(model, path); };
    spread->emplace(model, is_expert, process_group(mesh));
    style.apply(model, mesh);
    if (next) next(model);
    if (divisor != 1.0) divide_as_others(model, divisor);
    unused->emplace(model);
  };
  form.after_backward = [unused, next = std::move(form.after_backward)](nn::Module& model) {
    if (next) next(model);
    (*unused)->drop_gradients();
  };
  return form;
}

}  // namespace simmesh
