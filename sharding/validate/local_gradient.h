#pragma once

#include <string>

#include "sharding/validate/local_run.h"

namespace simmesh {

// GradientLabel says how the gradients that the ranks compute on their pieces form the gradient of
// a whole input, and with which gradient of an output a rank begins.
//
//   output R, S, P(sum)   the whole gradient, the rank's piece of it, the whole gradient
//   output P(avg)         the whole gradient over the number of ranks
//   input S               the gradient is cut as the input is
//   input P(sum)          every rank has the whole gradient
//   input P(avg)          a partial sum
//   input R               a partial sum where the output is cut or partial, else replicated
//
// Other placements have none: is_differentiable is false.
bool is_differentiable(const StrategyRow& rule, std::size_t output, const WholeCall& call);

// PlacedCall is a call whose pieces the ranks hold, under one rule along one mesh dim.
struct PlacedCall {
  const WholeCall& call;
  const StrategyRow& rule;
  gsl::span<const std::vector<Tensor>* const> pieces;  // of each input
  const LocalOutputs& outputs;
};

// WholeGradient is the gradient of an output, and the gradients of the inputs of the whole call
// that come of it.
struct WholeGradient {
  std::size_t output = 0;
  Tensor of_output;
  Gradients of_inputs;
};
// whole_gradient computes one, in exact arithmetic. All rules of a call share it.
WholeGradient whole_gradient(const WholeCall& call, std::size_t output, const Tensor& of_output);

// gradient_difference returns in words the difference between the gradients of the whole call and
// those that the op's gradient rule computes on the pieces; empty where the bits are equal. Sums
// are exact.
std::string gradient_difference(const PlacedCall& placed, const WholeGradient& gradient);

// has_gradient is true if the gradients of a call can be compared: its op has a gradient rule, its
// strategy doesn't compute it, and a floating input and that output take part.
bool has_gradient(const WholeCall& call, std::size_t output);

}  // namespace simmesh
