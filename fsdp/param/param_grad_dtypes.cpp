#include <algorithm>

#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "fsdp/param/param.h"
#include "fsdp/param/release_needed.h"

namespace simmesh::fsdp {

// A dtype that was set once stays: conversions and loads make parameters on which none is set.
void FSDPParam::adopt_grad_dtype(const Tensor& parameter) {
  GradDtype policy = grad_dtype_of(parameter);
  if (!policy.is_set()) return;
  require_release({ErrorKind::not_implemented_error, "grad_dtype of a sharded parameter"},
                  ReleaseChange::grad_dtype_of_parameters);
  grad_dtype_ = policy;
}

GradDtype FSDPParam::unsharded_policy() const {
  if (!accumulates_on_leaf_) return {};
  return unsharded_grad_dtype_ ? GradDtype(*unsharded_grad_dtype_) : GradDtype::any();
}

// A parameter that all tensor-parallel ranks have may get a partial gradient, which is added up
// over these ranks in the wider dtype.
bool FSDPParam::may_reduce_outside_data_dims() const {
  if (!inner_spec_) return false;
  const std::vector<std::string>& data = sharding_.data_dims;
  const std::vector<std::string>& names = inner_spec_->mesh().names();
  for (std::size_t i = 0; i < inner_spec_->placements().size(); ++i) {
    bool is_data = !data.empty() && std::find(data.begin(), data.end(), names[i]) != data.end();
    if (!is_data && inner_spec_->placements()[i].is_replicate()) return true;
  }
  return false;
}

bool FSDPParam::widens_gradients() const {
  DType computed = param_dtype_.value_or(orig_dtype_);
  return unsharded_grad_dtype_ && is_floating_point(*unsharded_grad_dtype_) &&
         is_floating_point(computed) &&
         bytes_per_element(*unsharded_grad_dtype_) > bytes_per_element(computed) &&
         !may_reduce_outside_data_dims();
}

void FSDPParam::begin_unsharded_grad(bool reduces) {
  if (!accumulates_on_leaf_ || !unsharded_param_.is_defined()) return;
  if (!unsharded_param_.requires_grad() || !widens_gradients()) return;
  if (reduces || grad_of(unsharded_param_).is_defined())
    set_grad_dtype(unsharded_param_, GradDtype::any());
}

void FSDPParam::end_unsharded_grad() {
  if (!unsharded_param_.is_defined()) return;
  if (!accumulates_on_leaf_) return keep_apart();
  GradDtype policy = unsharded_policy();
  if (grad_dtype_of(unsharded_param_) == policy) return;
  NoGrad mode;
  KeepUnrounded scope;
  Tensor grad = grad_of(unsharded_param_);
  set_grad(unsharded_param_, Tensor());
  set_grad_dtype(unsharded_param_, policy);
  if (grad.is_defined())
    set_grad(unsharded_param_, to(grad, unsharded_grad_dtype_.value_or(grad.dtype())));
}

}  // namespace simmesh::fsdp
