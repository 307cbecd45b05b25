#pragma once

#include <cstddef>

#include "sharding/paddle/dist_attr.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// layout_fields are the fields "dims" and "partial" of a layout in Paddle's terms:
// {"dims":[[0],[]], "partial":{"1":"sum"}}.
schema::Fields layout_fields();

// read_paddle_layout reads these fields.
paddle::DistAttr read_paddle_layout(const CaseField& field);

// paddle_placements_schema is a list of placements in Paddle's words.
Schema paddle_placements_schema();

// read_paddle_placements reads such a list.
Placements read_paddle_placements(const CaseField& field);

// case_mesh_dims_max bounds the dims of a mesh of Paddle's cases.
inline constexpr std::int64_t case_mesh_dims_max = 16;

}  // namespace simmesh
