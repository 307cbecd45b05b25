#pragma once

#include <optional>

#include "collectives/work.h"
#include "core/tensor/tensor.h"
#include "sharding/placement/mesh_groups.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// PlanRun is what a rank needs to carry out a plan, besides the plan.
struct PlanRun {
  MeshGroups& groups;
  DimSpan global_shape;
  // The rows of a partial masked sum that another rank counts (bool, one a row of the leading
  // dims); null for none.
  const Tensor* mask;
  CallSite site;
};

// PlanResult is a local tensor, or the collective that will return it.
struct PlanResult {
  Tensor local;
  std::optional<Work> pending;
};

// run_plan carries out a plan on this rank's local tensor: all ranks of the mesh call it together.
// With is_async the last step's collective may be left under way.
PlanResult run_plan(const Plan& plan, const Tensor& local, const PlanRun& run, bool is_async);

}  // namespace simmesh
