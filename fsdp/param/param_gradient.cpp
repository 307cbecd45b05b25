#include <algorithm>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/launch.h"
#include "fsdp/param/param.h"
#include "sharding/api/dtensor_gradient.h"

namespace simmesh::fsdp {

namespace {

// Returns the tape's gradient of a leaf, and drops it.
Tensor take_grad(Tensor& leaf) {
  Tensor grad = grad_of(leaf);
  if (grad.is_defined()) set_grad(leaf, Tensor());
  return grad;
}

// Returns the local part of a gradient, with the placements of its parameter. A partial one is
// reduced in the dtype in which gradients are reduced, where there is one.
Tensor local_gradient(const Tensor& gradient, const std::optional<DTensorSpec>& spec,
                      std::optional<DType> reduce_dtype) {
  if (!gradient.distribution()) return gradient.detach();
  DTensor value = DTensor::of(gradient);
  if (!spec)
    raise(ErrorKind::runtime_error, "fsdp/param_gradient",
          "expected a plain gradient of a plain parameter, got the DTensor {}",
          to_string(value.spec()));
  if (value.spec().sharding == spec->sharding) return value.local();
  const Placements& placements = value.placements();
  bool is_partial = std::any_of(placements.begin(), placements.end(),
                                [](const Placement& placement) { return placement.is_partial(); });
  if (is_partial && reduce_dtype) {
    DTensorSpec wider = value.spec();
    wider.dtype = *reduce_dtype;
    value = DTensor(std::move(wider), converted_unrounded(value.local(), *reduce_dtype));
  }
  return value
      .redistribute_local(without_partial(spec->placements()), {.order = spec->sharding.order})
      .local();
}

}  // namespace

Tensor FSDPParam::take_unsharded_grad() {
  KeepUnrounded scope;
  if (accumulated_grad_.is_defined()) return std::exchange(accumulated_grad_, Tensor());
  if (!unsharded_param_.is_defined()) return {};
  Tensor grad = take_grad(unsharded_param_);
  return grad.is_defined() ? local_gradient(grad, inner_spec_, unsharded_grad_dtype_) : grad;
}

void FSDPParam::accumulate_unsharded_grad() {
  if (!accumulated_grad_.is_defined() || !unsharded_param_.is_defined()) return;
  KeepUnrounded scope;
  Tensor fresh = take_grad(unsharded_param_);
  if (!fresh.is_defined()) return;
  NoGrad mode;
  Tensor value = local_gradient(fresh, inner_spec_, reduce_dtype_);
  accumulated_grad_ = converted_unrounded(add(accumulated_grad_, value), accumulated_grad_.dtype());
}

// Keeps a gradient in the dtype in which it is reduced, where that is another one.
void FSDPParam::keep_apart() {
  if (!reduce_dtype_) return;
  KeepUnrounded scope;
  Tensor grad = grad_of(unsharded_param_);
  if (!grad.is_defined() || grad.dtype() == *reduce_dtype_) return;
  set_grad(unsharded_param_, Tensor());
  accumulated_grad_ =
      converted_unrounded(local_gradient(grad, inner_spec_, reduce_dtype_), *reduce_dtype_);
}

void FSDPParam::drop_gradients() {
  accumulated_grad_ = Tensor();
  if (unsharded_param_.is_defined() && unsharded_param_.tracking())
    set_grad(unsharded_param_, Tensor());
}

void FSDPParam::drop_sharded_grad() { set_grad(sharded_param_, Tensor()); }

void FSDPParam::set_sharded_grad(Tensor local) {
  DTensorSpec spec = DTensor::of(sharded_param_).spec();
  spec.dtype = local.dtype();
  set_grad(sharded_param_, DTensor(std::move(spec), std::move(local)).as_tensor());
}

void FSDPParam::run_accumulate_hooks() {
  Variable* variable = Variable::of(sharded_param_);
  if (!variable) return;
  for (const auto& hook : std::vector(variable->accumulate_hooks)) hook(sharded_param_);
}

bool FSDPParam::has_accumulate_hooks() const {
  Variable* variable = Variable::of(sharded_param_);
  return variable && !variable->accumulate_hooks.empty();
}

// A copy to pinned memory doesn't hold up the host, unless something there reads it at once.
Tensor FSDPParam::offloaded(const Tensor& piece, CommStreams& streams) {
  Tensor copy;
  {
    Clock::Quiet one_copy;
    copy = piece.clone();
  }
  launch({.name = "grad_offload",
          .reads = {&piece, 1},
          .writes = {&copy, 1},
          .copies_host_memory = true});
  offload_event_ = Stream::current().record();
  bool is_read_at_once = grad_of(sharded_param_).is_defined() || has_accumulate_hooks();
  if (is_read_at_once || !sharding_.offload->pin_memory) wait_for_offload(streams);
  return copy;
}

void FSDPParam::wait_for_offload(CommStreams& streams) {
  if (offload_event_) streams.wait_for_offload(*offload_event_);
  offload_event_.reset();
}

void FSDPParam::add_sharded_grad(const Tensor& padded_piece, CommStreams& streams) {
  Ledger::Uncharged host(is_offloaded());
  Ledger::Category category(MemoryCategory::gradient);
  Tensor piece = padded_piece.narrow({shard_dim(), 0, sharded_shape_[std::size_t(shard_dim())]});
  if (is_offloaded()) piece = offloaded(piece, streams);
  Tensor before = grad_of(sharded_param_);
  if (before.is_defined()) {
    NoGrad mode;
    KeepUnrounded scope;
    // In place, as in PyTorch, so that other users of the gradient's memory see the sum.
    Tensor local = before.local_part();
    add_(local, piece);
  } else {
    set_sharded_grad(std::move(piece));
  }
  run_accumulate_hooks();
}

}  // namespace simmesh::fsdp
