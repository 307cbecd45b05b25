#pragma once

#include "core/ops/registry/op_table.h"

namespace simmesh {

// OpGradient is the gradient of the op of that name.
using OpGradient = OfOp<Gradient>;

// GradientTable has the gradients of the library's ops. Those of the ops of
// core/ops/elementwise/gamma.cpp are in core/gradients/elementwise/gamma.cpp, and so on. The source
// defines the function that is named after it and adds them:
// void gamma_gradients(GradientTable& table) { ... table.add(gradients); }
// No list names these functions: cmake/families.cmake finds them by the names of the sources. An op
// with floating outputs that has no gradient is in the table without a rule.
using GradientTable = OpTable<Gradient>;

// collected_gradients returns the gradients of all families.
GradientTable collected_gradients();

}  // namespace simmesh
