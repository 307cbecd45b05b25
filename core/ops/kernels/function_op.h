#pragma once

#include <string>

#include "core/arithmetic/functions.h"
#include "core/ops/kernels/pointwise_op.h"

namespace simmesh {

// function_op returns the op that is one function of functions.h, on whole arrays; its name is the
// function's.
Op function_op(Function function);

// made_op returns an elementwise op that is made of several functions: its loops compute in double,
// rounded once.
Op made_op(std::string name, ChunkLoops loops);

}  // namespace simmesh
