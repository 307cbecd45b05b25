#pragma once

#include <string>

#include "core/arithmetic/functions.h"
#include "core/ops/elementwise/pointwise_op.h"

namespace simmesh {

// FunctionOp is an op that is one function of functions.h, on whole arrays; its name is the
// function's.
struct FunctionOp {
  Function function;
  GradientRule gradient;
  Saves saves;
};
Op function_op(const FunctionOp& definition);

// MadeOp is an elementwise op that is made of several functions: its loops compute in double,
// rounded once.
struct MadeOp {
  std::string name;
  ChunkLoops loops;
  GradientRule gradient;
  Saves saves;
};
Op made_op(MadeOp made);

// A slope_by rule multiplies the gradient by the slope, a function of the input or of the output,
// which is what the op saves.
using Slope = Tensor (*)(const Tensor& saved);
GradientRule slope_by_input(Slope slope);
GradientRule slope_by_output(Slope slope);
inline constexpr Saves saves_input{.inputs = 1};
inline constexpr Saves saves_output{.outputs = 1};

}  // namespace simmesh
