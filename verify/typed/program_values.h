#pragma once

#include <optional>
#include <string>

#include "verify/typed/typed_program.h"

namespace simmesh {

// program_counter_example runs the steps of a program that were typed on all ranks of its mesh, in
// float64, and checks by values what the types promise:
//
//   - each operation for itself, as counter_example does;
//   - at the end, R and I values are equal along the axis, also of tensors that were written
//     through another name;
//   - where a backward pass ran, the gradient that the types' own backward calls give is the
//     derivative of the loss, which counts once along I axes and is summed along the others. Along
//     an R axis the ranks' gradients are the terms of a sum, along I and P axes they are equal.
//
// Returns nullopt if all of that is true, else a sentence that names value, axis and rank.
std::optional<std::string> program_counter_example(const TypedProgram& program);

}  // namespace simmesh
