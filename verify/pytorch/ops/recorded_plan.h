#pragma once

#include <optional>
#include <vector>

#include "verify/pytorch/ops/op_case.h"

namespace simmesh {

// recorded_cost returns the planner's cost of bringing the inputs of a call to the recorded
// placements of the one operator; nothing where they aren't recorded or can't be priced.
std::optional<double> recorded_cost(const OpCase& in, const std::vector<Tensor>& inputs);

// call_on_recorded brings the inputs to the recorded placements and makes the call there. All ranks
// of the mesh call it. Raises an Error where the placements don't fit the tensors of the call.
PythonValue call_on_recorded(const OpCase& in, const std::vector<Tensor>& inputs);

}  // namespace simmesh
