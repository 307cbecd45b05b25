#include "zero/stage3/partitioned_param.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/memory/data_mode.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"

namespace simmesh::zero {

PartitionGroups PartitionGroups::of(const ProcessGroup& all, std::int64_t secondary_size) {
  PartitionGroups groups{.all = all};
  if (secondary_size <= 1) return groups;
  std::int64_t first = all.rank() / secondary_size * secondary_size;
  std::vector<std::int64_t> members;
  for (std::int64_t i = first; i < std::min(first + secondary_size, all.size()); ++i)
    members.push_back(std::int64_t(all.members()[i]));
  groups.secondary = ProcessGroup::of(RankList::of(members), "hpz");
  return groups;
}

PartitionedParam::PartitionedParam(std::string name, const Tensor& whole,
                                   const PartitionGroups& groups)
    : name_(std::move(name)), ranks_(groups.all.size()), rank_(groups.all.rank()) {
  NoGrad mode;
  std::int64_t numel = whole.numel();
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
  take_first(whole, groups.all);
  Ledger::Category category(MemoryCategory::parameter);
  shard_ = zeros({shard_numel_}, whole.dtype());
  cut(shard_, rank_);
  cut_secondary();
  leaf_.storage()->free();
}

void PartitionedParam::take_first(const Tensor& whole, const ProcessGroup& group) {
  if (whole.is_meta()) {
    if (DataMode::shapes_only()) return;
    raise(ErrorKind::runtime_error, "zero/partitioned_param",
          "expected parameters with values, got {} on meta", name_);
  }
  Tensor values = whole.detach().contiguous();
  if (group.size() > 1) values = broadcast(values, 0, group);
  if (!values.has_elements()) return;
  PreservedVersion first(leaf_);
  leaf_.storage()->adopt(values.storage()->buffer(),
                         values.storage()->buffer_offset() + std::size_t(values.storage_offset()) *
                                                                 bytes_per_element(values.dtype()));
}

void PartitionedParam::register_at(std::vector<Place> places) {
  places_ = std::move(places);
  for (const Place& place : places_) place.module->set_parameter(place.name, leaf_);
}

// Cuts the padded parameter, whose padding is zero.
void PartitionedParam::cut(Tensor& shard, std::int64_t rank) const {
  std::int64_t size = shard.numel(), start = rank * size;
  std::int64_t count = std::clamp(numel() - start, std::int64_t(0), size);
  if (count == 0 || leaf_.is_meta()) return;
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
  discard_shard();
}

void PartitionedParam::update_shard() {
  fetch_shard();
  cut(shard_, rank_);
  park_shard();
  secondary_ = Tensor();
}

void PartitionedParam::offload(std::shared_ptr<FileStore> store) {
  NoGrad mode;
  Ledger::Uncharged host;
  shard_ = shard_.clone();
  store_ = std::move(store);
  park_shard();
}

void PartitionedParam::prefetch_shard() const {
  if (store_) store_->prefetch(shard_);
}

void PartitionedParam::fetch_shard() const {
  if (store_) store_->fetch(shard_);
}

void PartitionedParam::park_shard() const {
  if (store_) store_->park(shard_);
}

void PartitionedParam::discard_shard() const {
  if (store_) store_->discard(shard_);
}

std::string names_of(const std::vector<PartitionedParam*>& params) {
  std::vector<std::string_view> names;
  for (const PartitionedParam* param : params) names.push_back(param->name());
  return join_text(names, ", ");
}

}  // namespace simmesh::zero
