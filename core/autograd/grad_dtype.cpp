#include "core/autograd/grad_dtype.h"

#include "core/autograd/variable.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::string_view grad_dtype_source = "autograd/set_grad_dtype";

}  // namespace

GradDtype GradDtype::any() {
  GradDtype policy;
  policy.kind_ = Kind::any;
  return policy;
}

std::optional<DType> GradDtype::dtype_for(DType leaf) const {
  if (kind_ == Kind::any) return std::nullopt;
  return kind_ == Kind::given ? dtype_ : leaf;
}

GradDtype grad_dtype_of(const Tensor& leaf) {
  Variable* variable = Variable::of(leaf);
  return variable ? variable->grad_dtype() : GradDtype();
}

void set_grad_dtype(Tensor& leaf, GradDtype policy) {
  if (!leaf.tracking()) leaf.set_tracking(new Variable(false));
  Variable& variable = *Variable::of(leaf);
  if (!variable.is_leaf())
    raise(ErrorKind::runtime_error, grad_dtype_source,
          "grad_dtype can only be set on leaf tensors, got the result of {}",
          variable.node()->name());
  Tensor gradient = variable.grad();
  std::optional<DType> dtype = policy.dtype_for(leaf.dtype());
  if (gradient.is_defined() && dtype && gradient.dtype() != *dtype)
    raise(ErrorKind::runtime_error, grad_dtype_source,
          "cannot set grad_dtype to {} because there is already a gradient with dtype {}",
          to_string(*dtype), to_string(gradient.dtype()));
  variable.set_grad_dtype(policy);
}

}  // namespace simmesh
