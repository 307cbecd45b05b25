#pragma once

#include <string>

#include "core/tensor/shape.h"
#include "sharding/redistribute/plan.h"

namespace simmesh {

// plan_text_picture draws a plan in plain text, the same bytes every time: the sharding that it
// starts from, then each step and the sharding after it, as text_picture draws shardings. Raises as
// picture_grid does.
std::string plan_text_picture(DimSpan global_shape, DimSpan mesh_shape, const Plan& plan);

// plan_svg_picture draws the same as one self-contained SVG element.
std::string plan_svg_picture(DimSpan global_shape, DimSpan mesh_shape, const Plan& plan);

}  // namespace simmesh
