#pragma once

#include <cstdint>
#include <optional>

#include "core/tensor/dtype.h"

namespace simmesh {

// GradDtype is the policy for the dtype of a leaf's gradient, PyTorch's Tensor.grad_dtype: unset,
// the leaf's own dtype; a dtype, that one; any, whatever backward gives (PyTorch's None).
//
//   GradDtype policy = DType::float32;  // of a bfloat16 leaf: its gradients add up in float32
class GradDtype {
 public:
  GradDtype() = default;
  GradDtype(DType dtype) : kind_(Kind::given), dtype_(dtype) {}
  // any takes gradients in the dtype in which backward gives them.
  static GradDtype any();

  bool is_set() const { return kind_ != Kind::unset; }
  bool is_any() const { return kind_ == Kind::any; }
  // dtype_for returns the dtype of the gradient of a leaf of this dtype; empty where any dtype is
  // allowed.
  std::optional<DType> dtype_for(DType leaf) const;

  friend bool operator==(const GradDtype&, const GradDtype&) = default;

 private:
  enum class Kind : std::uint8_t { unset, given, any };

  Kind kind_ = Kind::unset;
  DType dtype_ = DType::float32;
};

}  // namespace simmesh
