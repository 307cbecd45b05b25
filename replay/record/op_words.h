#pragma once

#include <string>

#include "core/ops/op.h"
#include "core/tensor/launch.h"

namespace simmesh::replay {

// recorded_name returns the name of an op in PyTorch's traces: "aten::mm", "aten::add_" in place. A
// name with a library keeps it: "my::scale_rows".
std::string recorded_name(const OpCall& call);

// schema_of returns how the op was called, in the form of PyTorch's op_schema: "aten::sum(Tensor
// input0, *, int[] dims, bool keepdim) -> Tensor". It lacks arguments that a call left out.
std::string schema_of(const OpCall& call, std::size_t results);

// The same for an operation of the device that is no op: "simmesh::all_gather_copy_out".
std::string recorded_name(const TensorLaunch& kernel);
std::string schema_of(const TensorLaunch& kernel);

// RecordedArgument is an argument of an op that is no tensor, as JSON: "Int" and "3".
struct RecordedArgument {
  std::string type;
  std::string json;
};
RecordedArgument recorded_argument(const AttributeValue& value);

}  // namespace simmesh::replay
