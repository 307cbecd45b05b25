#include <cstring>

#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/tensor/convert.h"
#include "fsdp/param/param.h"

namespace simmesh::fsdp {

namespace {

void copy_rows(Tensor& flat, const FSDPParam::GatheredRows& rows) {
  if (rows.bytes == 0 || !flat.has_elements()) return;
  std::byte* target = flat.mutable_data();
  for (std::int64_t i = 0; i < rows.count; ++i)
    std::memcpy(target + std::size_t(i) * rows.bytes, rows.first + std::size_t(i) * rows.stride,
                rows.bytes);
}

// The ranks' pieces come stacked on dim 0; in the whole tensor they are side by side along a dim.
void copy_side_by_side(Tensor& whole, const Tensor& stacked, std::int64_t dim, std::int64_t ranks) {
  Shape piece_shape = whole.shape();
  piece_shape[std::size_t(dim)] /= ranks;
  std::int64_t piece_numel = numel(piece_shape);
  for (std::int64_t i = 0; i < ranks; ++i) {
    Tensor piece = stacked.narrow({0, i * piece_numel, piece_numel}).view(piece_shape);
    Tensor target =
        whole.narrow({dim, i * piece_shape[std::size_t(dim)], piece_shape[std::size_t(dim)]});
    copy_(target, piece);
  }
}

}  // namespace

Tensor FSDPParam::gather_input() {
  if (sharding_.extension) return extended_input();
  const Tensor& own =
      state_ == ShardedState::sharded_post_forward ? post_forward_data_ : sharded_data_;
  DType dtype = param_dtype_.value_or(orig_dtype_);
  return own.dtype() == dtype ? own : converted(own, dtype);
}

Tensor FSDPParam::unsharded_local() const {
  return Tensor(unsharded_data_.storage(), unsharded_data_.dtype(), shape_,
                contiguous_strides(shape_), 0);
}

void FSDPParam::prepare_unsharded(DType dtype) {
  bool wants_grad = sharded_param_.requires_grad();
  if (unsharded_data_.is_defined() && unsharded_data_.dtype() == dtype) {
    unsharded_data_.storage()->restore();
  } else {
    Ledger::Category category(MemoryCategory::parameter);
    unsharded_data_ = empty({padded_numel() * sharding_.mesh.shard_size()}, dtype);
    unsharded_param_ = unsharded_local();
    if (inner_spec_) {
      DTensorSpec spec = *inner_spec_;
      spec.dtype = dtype;
      unsharded_param_ = DTensor(std::move(spec), unsharded_param_).as_tensor();
    }
    set_grad_dtype(unsharded_param_, unsharded_policy());
  }
  if (unsharded_param_.requires_grad() != wants_grad)
    simmesh::set_requires_grad(unsharded_param_, wants_grad);
}

void FSDPParam::take_gathered(const GatheredRows& rows) {
  if (sharding_.extension) return take_extended(rows);
  prepare_unsharded(rows.dtype);
  PreservedVersion same_values(unsharded_data_);
  if (shard_dim() == 0 || state_ == ShardedState::sharded_post_forward) {
    copy_rows(unsharded_data_, rows);
    return;
  }
  Tensor stacked = empty({unsharded_data_.numel()}, rows.dtype);
  copy_rows(stacked, rows);
  Tensor whole = unsharded_local();
  copy_side_by_side(whole, stacked, shard_dim(), sharding_.mesh.shard_size());
}

}  // namespace simmesh::fsdp
