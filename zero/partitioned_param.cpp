#include "zero/partitioned_param.h"

#include <algorithm>

#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"

namespace simmesh::zero {

PartitionedParam::PartitionedParam(std::string name, const Tensor& whole, std::vector<Place> places,
                                   const PartitionGroups& groups)
    : name_(std::move(name)),
      places_(std::move(places)),
      ranks_(groups.all.size()),
      rank_(groups.all.rank()) {
  NoGrad mode;
  std::int64_t numel = whole.element_count();
  shard_numel_ = (numel + ranks_ - 1) / ranks_;
  own_numel_ = std::clamp(numel - rank_ * shard_numel_, std::int64_t(0), shard_numel_);
  if (groups.secondary) {
    secondary_ranks_ = groups.secondary->size();
    secondary_rank_ = groups.secondary->rank();
  }
  {
    Ledger::Uncharged in_buffers;
    leaf_ = empty_meta(whole.shape(), whole.dtype(), true);
  }
  set_requires_grad(leaf_, whole.requires_grad());
  Tensor values = whole.detach().contiguous();
  {
    PreservedVersion first(leaf_);
    if (values.has_elements())
      leaf_.storage()->adopt(values.storage()->buffer(), values.storage()->buffer_offset() +
                                                             std::size_t(values.storage_offset()) *
                                                                 bytes_per_element(values.dtype()));
  }
  Ledger::Category category(MemoryCategory::parameter);
  shard_ = zeros({shard_numel_}, whole.dtype());
  cut(shard_, rank_);
  cut_secondary();
  leaf_.storage()->free();
  register_leaf(leaf_);
}

// Of the padded parameter, whose padding is zero.
void PartitionedParam::cut(Tensor& shard, std::int64_t rank) const {
  std::int64_t size = shard.element_count(), start = rank * size;
  std::int64_t count = std::clamp(numel() - start, std::int64_t(0), size);
  if (count == 0 || !leaf_.has_elements()) return;
  Tensor flat = leaf_.detach().view(Dims{numel()});
  Tensor target = shard.narrow({0, 0, count});
  copy_(target, flat.narrow({0, start, count}));
}

void PartitionedParam::cut_secondary() {
  if (secondary_ranks_ == 0 || secondary_.is_defined()) return;
  Ledger::Category category(MemoryCategory::parameter);
  std::int64_t padded = shard_numel_ * ranks_;
  secondary_ = zeros({(padded + secondary_ranks_ - 1) / secondary_ranks_}, dtype());
  cut(secondary_, secondary_rank_);
}

void PartitionedParam::take(const Tensor& buffer, std::int64_t offset) {
  PreservedVersion same_values(leaf_);
  if (buffer.has_elements()) {
    std::int64_t start = buffer.storage_offset() + offset;
    leaf_.storage()->adopt(
        buffer.storage()->buffer(),
        buffer.storage()->buffer_offset() + std::size_t(start) * bytes_per_element(dtype()));
  } else {
    leaf_.storage()->restore();
  }
  held_ = buffer;
}

void PartitionedParam::drop() {
  cut_secondary();
  leaf_.storage()->free();
  held_ = Tensor();
}

void PartitionedParam::update_shard() {
  cut(shard_, rank_);
  secondary_ = Tensor();
}

void PartitionedParam::release_leaf() {
  Ledger::Category category(MemoryCategory::parameter);
  Tensor whole = leaf_.detach().clone();
  set_requires_grad(whole, requires_grad());
  register_leaf(whole);
}

void PartitionedParam::register_leaf(const Tensor& leaf) const {
  for (const Place& place : places_) place.module->set_parameter(place.name, leaf);
}

}  // namespace simmesh::zero
