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

// FunctionOptions says what backward does.
struct FunctionOptions {
  // reduces_gradients says that it adds up what ranks have of a gradient, or moves it: in exact
  // arithmetic the gradients that it gets and returns are then sums that aren't rounded where those
  // of an input are such sums, as a leaf's are.
  bool reduces_gradients = false;
  // passes_on says that backward, of one input and one output, only sees that the gradient goes by:
  // it is called once, with a part of the gradient, and what it returns is not looked at. No bit of
  // any sum changes by it.
  bool passes_on = false;
  // moves says that it only moves elements of the gradient of its one input: as behind a view, the
  // gradient is a sum that isn't rounded where that of the input is one.
  bool moves = false;
};

// record_function makes the outputs, computed from the inputs by other means than ops, part of the
// tape: backward says what their gradients do to the inputs'. Outputs of floating dtype then
// require a gradient where an input does and gradients are enabled. An output may be an input.
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
