#pragma once

#include <functional>
#include <gsl/span>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// InputConversion replaces the inputs of each op that this rank calls in its scope. Only the
// innermost of nested scopes does. An in-place call keeps the tensor that it changes.
//
//   InputConversion scope([](const Op&, gsl::span<const Tensor> inputs) {
//     return std::vector<Tensor>{to(inputs[0], DType::bfloat16)};
//   });
class InputConversion {
 public:
  // Convert returns the inputs that an op gets, none where those given stay.
  using Convert = std::function<std::vector<Tensor>(const Op& op, gsl::span<const Tensor> inputs)>;

  explicit InputConversion(Convert convert);
  ~InputConversion();
  InputConversion(const InputConversion&) = delete;
  InputConversion& operator=(const InputConversion&) = delete;

  // is_open is true in a scope of this rank.
  static bool is_open();

  // converted returns what the innermost scope of this rank makes of the inputs of a call.
  static std::vector<Tensor> converted(const Op& op, gsl::span<const Tensor> inputs);

 private:
  Convert convert_;
  const Convert* outer_;
};

}  // namespace simmesh
