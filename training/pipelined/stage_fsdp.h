#pragma once

#include "training/fsdp_plan.h"
#include "training/pipelined/stage_plan.h"

namespace simmesh {

// fsdp_plan_of_stage returns the calls of a plan that shard what a stage has. The root is the
// stage's module.
FsdpPlan fsdp_plan_of_stage(const FsdpPlan& whole, const StagePlan& stages, std::int64_t stage);

}  // namespace simmesh
