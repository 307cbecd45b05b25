#include "training/pipelined/stage_fsdp.h"

namespace simmesh {

FsdpPlan fsdp_plan_of_stage(const FsdpPlan& whole, const StagePlan& stages, std::int64_t stage) {
  auto is_elsewhere = [&](const std::string& path) { return !stages.has(stage, path); };
  auto names_another = [&](const auto& entry) { return is_elsewhere(entry.first); };
  FsdpPlan plan = whole;
  for (WrapPlan& wrap : plan.wraps) {
    wrap.as_list |= wrap.modules.size() > 1;
    std::erase_if(wrap.modules, is_elsewhere);
    std::erase_if(wrap.ignored, is_elsewhere);
    std::erase_if(wrap.shard_dims, names_another);
    std::erase_if(wrap.param_mesh, names_another);
  }
  std::erase_if(plan.wraps, [](const WrapPlan& wrap) { return wrap.modules.empty(); });
  return plan;
}

}  // namespace simmesh
