#pragma once

#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace simmesh {

// FunctionBackward returns one gradient an input; undefined tensors for none. The gradients it gets
// are undefined where an output got none.
using FunctionBackward = std::function<std::vector<Tensor>(const std::vector<Tensor>& gradients)>;

// FunctionOptions describe a function's backward.
struct FunctionOptions {
  // reduces_gradients says that backward adds up or moves the ranks' parts of a gradient: in exact
  // arithmetic the gradients that it gets and returns are then unrounded sums where those of an
  // input are, as a leaf's are.
  bool reduces_gradients = false;
  // passes_on says that backward, of one input and one output, only observes the gradient: it is
  // called once, with a part of the gradient, and its result is ignored. No bit of any sum changes
  // by it.
  bool passes_on = false;
  // moves says that backward only moves elements of the gradient of its one input: as for a view,
  // the gradient is an unrounded sum where the input's is one.
  bool moves = false;
};

// record_function puts outputs that were computed from the inputs by other means than ops on the
// tape: backward computes the inputs' gradients from theirs. Outputs of floating dtype then require
// a gradient where an input does and gradients are enabled. An output may be an input.
//
//   Tensor y = all_reduce(x.detach(), ReduceOp::sum, group);
//   record_function("sum_over_ranks", {x}, {&y}, [](const Gradients& gradients) {
//     return Gradients{all_reduce(gradients[0], ReduceOp::sum, group)};
//   });
void record_function(std::string name, gsl::span<const Tensor> inputs,
                     gsl::span<Tensor* const> outputs, FunctionBackward backward,
                     const FunctionOptions& options = {});
inline void record_function(std::string name, std::initializer_list<Tensor> inputs,
                            std::initializer_list<Tensor*> outputs, FunctionBackward backward,
                            const FunctionOptions& options = {}) {
  record_function(std::move(name), gsl::span<const Tensor>(inputs.begin(), inputs.size()),
                  gsl::span<Tensor* const>(outputs.begin(), outputs.size()), std::move(backward),
                  options);
}

}  // namespace simmesh
