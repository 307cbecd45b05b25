#pragma once

#include <initializer_list>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// call runs an op: on distributed tensors through their distribution, else its kernel or view rule.
// It records the op on the tape where gradients are enabled and an input requires one. Raises what
// the shape rule raises, and a TypeError where plain and distributed tensors are mixed.
std::vector<Tensor> call(const Op& op, gsl::span<const Tensor> inputs,
                         const Attributes& attributes = {});
inline std::vector<Tensor> call(const Op& op, std::initializer_list<Tensor> inputs,
                                const Attributes& attributes = {}) {
  return call(op, gsl::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

// call_one runs an op that has one output.
Tensor call_one(const Op& op, gsl::span<const Tensor> inputs, const Attributes& attributes = {});
inline Tensor call_one(const Op& op, std::initializer_list<Tensor> inputs,
                       const Attributes& attributes = {}) {
  return call_one(op, gsl::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

// call_into runs an op without the tape and writes its only output into out, a tensor of the
// output's type that requires no gradient, through any strides, and returns out.
Tensor& call_into(const Op& op, Tensor& out, gsl::span<const Tensor> inputs,
                  const Attributes& attributes = {});
inline Tensor& call_into(const Op& op, Tensor& out, std::initializer_list<Tensor> inputs,
                         const Attributes& attributes = {}) {
  return call_into(op, out, gsl::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

// call_in_place runs an op and writes its only output, converted to self's dtype, into self, its
// first input, and returns self; on the tape self becomes the output. Raises a RuntimeError for a
// leaf that requires a gradient while gradients are enabled, and where the output has another shape
// or a dtype of a higher kind than self's.
Tensor& call_in_place(const Op& op, Tensor& self, gsl::span<const Tensor> inputs,
                      const Attributes& attributes = {});
inline Tensor& call_in_place(const Op& op, Tensor& self, std::initializer_list<Tensor> inputs,
                             const Attributes& attributes = {}) {
  return call_in_place(op, self, gsl::span<const Tensor>(inputs.begin(), inputs.size()),
                       attributes);
}

// KnownTypes are the types of the inputs that an op was called with, and the types that its shape
// rule returned.
struct KnownTypes {
  TensorTypes inputs;
  TensorTypes outputs;
};

// call_known is call for code that calls an op with the same attributes again and again: the shape
// rule runs only where the inputs' types differ from the known ones, which are then replaced.
std::vector<Tensor> call_known(const Op& op, gsl::span<const Tensor> inputs,
                               const Attributes& attributes, KnownTypes& known);

// infer_types returns the types of the outputs without computing them.
TensorTypes infer_types(const Op& op, gsl::span<const TensorType> inputs,
                        const Attributes& attributes = {});

}  // namespace simmesh
