#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/chunk.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

void FSDPParam::to_unsharded() {
  register_on_modules(unsharded_param_);
  post_forward_param_ = post_forward_data_ = Tensor();
  state_ = ShardedState::unsharded;
}

void FSDPParam::to_sharded() {
  if (state_ == ShardedState::sharded) return;
  register_on_modules(sharded_param_);
  free_unsharded();
  post_forward_param_ = post_forward_data_ = Tensor();
  state_ = ShardedState::sharded;
}

void FSDPParam::free_unsharded() {
  if (unsharded_data_.is_defined() && !keeps_unsharded_storage_) unsharded_data_.storage()->free();
}

// The next gather reads a slice of the padded whole; the registered parameter has the rows of a
// DTensor on the smaller mesh. The two are the same bytes unless rows don't divide evenly.
void FSDPParam::to_sharded_post_forward() {
  if (inner_spec_)
    raise(ErrorKind::not_implemented_error, "fsdp/reshard",
          "Resharding to smaller mesh with DTensor parameters is not supported: {}",
          slots_.owner.name);
  const MeshInfo& mesh = *sharding_.post_forward;
  Ledger::Category category(MemoryCategory::parameter);
  std::int64_t slice = unsharded_data_.numel() / mesh.shard_size();
  post_forward_data_ = unsharded_data_.narrow({0, slice * mesh.shard_rank(), slice}).clone();
  Chunk rows =
      chunk_of({.size = shape_[0], .parts = mesh.shard_size(), .index = mesh.shard_rank()});
  Shape local_shape = shape_;
  local_shape[0] = rows.length;
  std::int64_t row = rows.length == 0 ? 0 : numel(local_shape) / rows.length;
  bool same_rows = rows.length == 0 || rows.start * row == slice * mesh.shard_rank();
  same_rows = same_rows && numel(local_shape) <= slice;
  Tensor local = same_rows ? Tensor(post_forward_data_.storage(), post_forward_data_.dtype(),
                                    local_shape, contiguous_strides(local_shape), 0)
                           : unsharded_local().narrow({0, rows.start, rows.length}).clone();
  DTensorSpec spec{mesh.groups, {mesh.placements(Shard(0))}, shape_, local.dtype()};
  post_forward_param_ = DTensor(std::move(spec), local).as_tensor();
  simmesh::set_requires_grad(post_forward_param_, sharded_param_.requires_grad());
  register_on_modules(post_forward_param_);
  free_unsharded();
  state_ = ShardedState::sharded_post_forward;
}

}  // namespace simmesh::fsdp
