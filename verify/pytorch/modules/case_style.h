#pragma once

#include "sharding/parallel/parallelize.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// style_schema is a style with its arguments: {"style": "ColwiseParallel", "output_layouts": "R"}.
Schema style_schema();

// read_style reads it; a missing argument has PyTorch's default.
ParallelStyle read_style(const CaseField& field);

// read_plan reads an object of paths and styles. The style of the whole module comes last.
ParallelizePlan read_plan(const CaseField& field);

}  // namespace simmesh
