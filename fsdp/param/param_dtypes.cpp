#include "core/engine/run/followed_release.h"
#include "fsdp/param/param.h"
#include "fsdp/param/release_needed.h"

namespace simmesh::fsdp {

void FSDPParam::init_dtypes(const MixedPrecisionPolicy& policy) {
  policy_ = policy;
  orig_dtype_ = sharded_param_.dtype();
  param_dtype_ = sharding_.param_dtype ? sharding_.param_dtype : policy.param_dtype;
  if (param_dtype_ == orig_dtype_ || !is_floating_point(orig_dtype_)) param_dtype_.reset();
  reduce_dtype_ = unsharded_grad_dtype_ = policy.reduce_dtype;
  if (!reduce_dtype_ && follows(ReleaseChange::reduce_in_original_dtype))
    unsharded_grad_dtype_ = sharded_grad_dtype();
  accumulates_on_leaf_ = follows(ReleaseChange::accumulate_on_parameter);
}

}  // namespace simmesh::fsdp
