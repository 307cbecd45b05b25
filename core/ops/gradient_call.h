#pragma once

#include "core/ops/op.h"

namespace simmesh {

// GradientCall is the argument of a gradient rule: the gradients of the outputs, the tensors that
// the op saves, and which inputs require a gradient.
class GradientCall {
 public:
  // Parts are what the call is made of; they outlive it.
  struct Parts {
    const Op& op;
    const Attributes& attributes;
    gsl::span<const Tensor> inputs;   // undefined where not saved
    gsl::span<const Tensor> outputs;  // undefined where not saved
    gsl::span<const TensorType> input_types;
    gsl::span<const TensorType> output_types;
    gsl::span<const Tensor> gradients;  // undefined where an output got none
    gsl::span<const bool> needs;
    gsl::span<const bool> unfinished;
  };

  explicit GradientCall(const Parts& parts) : parts_(parts) {}

  const Attributes& attributes() const { return parts_.attributes; }
  std::size_t input_count() const { return parts_.input_types.size(); }
  std::size_t output_count() const { return parts_.output_types.size(); }
  // has_input is true if an optional input was given as a tensor.
  bool has_input(std::size_t index) const {
    return index < input_count() && input_type(index).is_defined;
  }

  // input and output return a tensor that the gradient's Saves names; reading any other one breaks
  // a contract.
  const Tensor& input(std::size_t index) const;
  const Tensor& output(std::size_t index = 0) const;
  const TensorType& input_type(std::size_t index) const { return parts_.input_types[index]; }
  const TensorType& output_type(std::size_t index = 0) const { return parts_.output_types[index]; }

  // gradient returns the gradient of an output; zeros if it got none.
  Tensor gradient(std::size_t index = 0) const;
  bool has_gradient(std::size_t index) const { return parts_.gradients[index].is_defined(); }

  // needs is true if an input requires a gradient. A rule may leave the gradients of the others
  // undefined.
  bool needs(std::size_t index) const { return index < parts_.needs.size() && parts_.needs[index]; }
  // is_unfinished is true if the gradient of an input is only a part of a sum, to which later
  // micro-batches and other ranks add, as a leaf's gradient is. The operation that adds its terms
  // then runs in a scope of KeepUnrounded.
  bool is_unfinished(std::size_t index) const {
    return index < parts_.unfinished.size() && parts_.unfinished[index];
  }

 private:
  Parts parts_;
};

}  // namespace simmesh
