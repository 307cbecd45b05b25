#pragma once

#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <string>
#include <vector>

#include <simmesh/core/tensor/tensor.h>

namespace simmesh {

// FunctionBackward returns one gradient an input; undefined tensors for none. The gradients it gets
// are undefined where an output got none.
using FunctionBackward = std::function<std::vector<Tensor>(const std::vector<Tensor>& gradients)>;

// record_function makes the outputs, computed from the inputs by other means than ops, part of the
// tape: backward says what their gradients do to the inputs'. Outputs of floating dtype then
// require a gradient where an input does and gradients are enabled. An output may be an input.
//
//   Tensor y = redistributed(x.detach());
//   record_function("redistribute", {x}, {&y}, [](auto& gradients) { ... });
void record_function(std::string name, gsl::span<const Tensor> inputs,
                     gsl::span<Tensor* const> outputs, FunctionBackward backward);
inline void record_function(std::string name, std::initializer_list<Tensor> inputs,
                            std::initializer_list<Tensor*> outputs, FunctionBackward backward) {
  record_function(std::move(name), gsl::span<const Tensor>(inputs.begin(), inputs.size()),
                  gsl::span<Tensor* const>(outputs.begin(), outputs.size()), std::move(backward));
}

}  // namespace simmesh
