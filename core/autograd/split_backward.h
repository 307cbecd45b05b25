#pragma once

#include <gsl/span>
#include <vector>

#include "core/autograd/traversal.h"

namespace simmesh {

// root_of returns the place on the tape of a tensor that requires a gradient, with a gradient for
// it; the tensor may be dropped then. Without a gradient it is ones, for a tensor of one element.
// Raises a RuntimeError for another shape, and for a tensor that requires none.
GradientRoot root_of(const Tensor& tensor, const Tensor& gradient = {});

// backward_from adds the gradients of the leaves that the roots depend on, as backward does.
void backward_from(gsl::span<const GradientRoot> roots);

// SplitBackward is a backward pass in two parts, as schedules of pipelines have it: first the
// gradients of some inputs, and some time later those of all leaves. Together they compute what
// backward_from does, bit for bit.
//
//   std::vector<GradientRoot> roots = {root_of(y, gradient)};
//   SplitBackward pass(roots, {&x, 1});
//   Tensor of_input = pass.run_inputs()[0];   // as soon as possible: another rank waits for it
//   pass.run_leaves();                        // whenever there is time
class SplitBackward {
 public:
  // The pass ends at the inputs: leaves, or results of functions of one output. One that requires
  // no gradient, or isn't reached, gets an undefined one.
  SplitBackward(gsl::span<const GradientRoot> roots, gsl::span<const Tensor> inputs);

  // run_inputs returns one gradient an input. An op computes nothing else in it.
  std::vector<Tensor> run_inputs();
  // run_leaves adds the gradients of all other leaves, after run_inputs.
  void run_leaves();

 private:
  Traversal traversal_;
  std::size_t inputs_;
};

}  // namespace simmesh
