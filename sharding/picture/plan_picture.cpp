#include "sharding/picture/plan_picture.h"

#include <fmt/format.h>
#include <vector>

#include "sharding/picture/picture.h"
#include "sharding/picture/picture_svg.h"

namespace simmesh {

namespace {

std::vector<PictureStage> stages_of(const Plan& plan, DimSpan mesh_shape) {
  std::vector<PictureStage> stages = {{fmt::format("start: {}", to_string(plan.from)), plan.from}};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    stages.push_back(
        {fmt::format("step {}: {}, {}, then {}", i + 1, to_string(step),
                     to_string(collective_of(step, mesh_shape)), to_string(step.after)),
         step.after});
  }
  return stages;
}

}  // namespace

std::string plan_text_picture(DimSpan global_shape, DimSpan mesh_shape, const Plan& plan) {
  std::string text;
  for (const PictureStage& stage : stages_of(plan, mesh_shape))
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", stage.title,
                        text_picture(global_shape, mesh_shape, stage.sharding));
  return text;
}

std::string plan_svg_picture(DimSpan global_shape, DimSpan mesh_shape, const Plan& plan) {
  return svg_picture(global_shape, mesh_shape, stages_of(plan, mesh_shape));
}

}  // namespace simmesh
