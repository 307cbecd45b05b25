#include "zero/stage3/gradient_shards.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/tensor/convert.h"
#include "zero/engine/mean.h"
#include "zero/fetch/collective_record.h"

namespace simmesh::zero {

GradientShards::GradientShards(PartitionedParams& params, const ReduceSettings& settings)
    : params_(params), settings_(settings), shards_(params.size()) {}

DType GradientShards::communication_dtype(ParamId param) const {
  if (auto lower = params_[param].lower_dtype()) return *lower;
  return settings_.communication.value_or(params_[param].dtype());
}

void GradientShards::add(ParamId param, Tensor gradient) {
  std::int64_t numel = params_[param].numel();
  Bucket& bucket = buckets_[to_string(communication_dtype(param))];
  if (!bucket.entries.empty() && bucket.numel + numel > settings_.bucket_size)
    reduce_bucket(bucket);
  bucket.entries.push_back({param, std::move(gradient)});
  bucket.numel += numel;
}

void GradientShards::flush() {
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::gradient);
  for (auto& [dtype, bucket] : buckets_) reduce_bucket(bucket);
  while (!pending_.empty()) finish_oldest();
}

bool GradientShards::is_empty() const {
  return std::all_of(buckets_.begin(), buckets_.end(),
                     [](const auto& entry) { return entry.second.entries.empty(); });
}

// A parameter may be in the bucket twice, with parts of one sum; each part is reduced.
void GradientShards::reduce_bucket(Bucket& bucket) {
  if (bucket.entries.empty()) return;
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::gradient);
  if (settings_.quantizing_nodes) reduce_quantized_ones(bucket);
  if (bucket.entries.empty()) {
    bucket.numel = 0;
    return;
  }
  if (settings_.reduce_scatter || bucket.numel > settings_.bucket_size)
    reduce_scatter_bucket(bucket);
  else
    all_reduce_bucket(bucket);
  bucket.entries.clear();
  bucket.numel = 0;
  while (pending_.size() > (settings_.overlaps ? 1 : 0)) finish_oldest();
}

void GradientShards::finish_oldest() {
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  take(pending.parts, pending.work.wait());
}

void GradientShards::take(const std::vector<Pending::Part>& parts, const Tensor& reduced) {
  for (const Pending::Part& part : parts)
    add_to_shard(part.param, reduced.narrow({0, part.offset, params_[part.param].own_numel()}));
}

void GradientShards::divide(Tensor& flat) const {
  std::int64_t ranks = params_.groups().all.size();
  if (ranks > 1) flat = MeanOf{.before = double(ranks), .is_sum = !settings_.averages}.begin(flat);
}

void GradientShards::reduce_quantized_ones(Bucket& bucket) {
  std::int64_t ranks = params_.groups().all.size();
  auto exact =
      std::stable_partition(bucket.entries.begin(), bucket.entries.end(), [&](const Entry& entry) {
        return can_reduce_quantized(params_[entry.param].shape(), ranks);
      });
  std::sort(bucket.entries.begin(), exact,
            [](const Entry& a, const Entry& b) { return a.param < b.param; });
  for (auto entry = bucket.entries.begin(); entry != exact; ++entry) {
    const PartitionedParam& param = params_[entry->param];
    Tensor gradient = entry->gradient.is_defined()
                          ? to(entry->gradient.detach(), communication_dtype(entry->param))
                          : zeros(param.shape(), communication_dtype(entry->param));
    CallContents contents(param.name());
    Tensor mean = reduce_quantized(gradient, *settings_.quantizing_nodes);
    add_to_shard(entry->param, settings_.averages ? mean : mul(mean, double(ranks)));
  }
  bucket.entries.erase(bucket.entries.begin(), exact);
}

// Row r has the shards of rank r of all parameters.
void GradientShards::put_shards(Tensor& flat, const Entry& entry, std::int64_t row,
                                std::int64_t offset) const {
  const PartitionedParam& param = params_[entry.param];
  if (!entry.gradient.is_defined()) return;
  Tensor whole =
      converted_unrounded(entry.gradient, flat.dtype()).contiguous().view(Dims{param.numel()});
  for (std::int64_t rank = 0; rank * param.shard_numel() < param.numel(); ++rank) {
    std::int64_t start = rank * param.shard_numel();
    std::int64_t count = std::min(param.shard_numel(), param.numel() - start);
    Tensor target = flat.narrow({0, rank * row + offset, count});
    copy_(target, whole.narrow({0, start, count}));
  }
}

std::string GradientShards::contents_of(const Bucket& bucket) const {
  std::vector<std::string_view> names;
  for (const Entry& entry : bucket.entries) names.push_back(params_[entry.param].name());
  return join_text(names, ", ");
}

void GradientShards::reduce_scatter_bucket(Bucket& bucket) {
  const ProcessGroup& group = params_.groups().all;
  std::stable_sort(bucket.entries.begin(), bucket.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.param < b.param; });
  std::int64_t row = 0, offset = 0;
  for (const Entry& entry : bucket.entries) row += params_[entry.param].shard_numel();
  Tensor flat = zeros({row * group.size()}, communication_dtype(bucket.entries.front().param));
  std::vector<Pending::Part> parts;
  for (Entry& entry : bucket.entries) {
    put_shards(flat, entry, row, offset);
    parts.push_back({entry.param, offset});
    offset += params_[entry.param].shard_numel();
    entry.gradient = Tensor();
  }
  divide(flat);
  if (group.size() == 1) return take(parts, flat);
  CallContents contents(contents_of(bucket));
  record_collective("reduce_scatter_tensor", flat, group, group);
  Work work = reduce_scatter_async(flat, ReduceOp::sum, {.dim = 0}, group);
  pending_.push_back({std::move(parts), flat, std::move(work)});
}

void GradientShards::all_reduce_bucket(Bucket& bucket) {
  const ProcessGroup& group = params_.groups().all;
  Tensor flat = zeros({bucket.numel}, communication_dtype(bucket.entries.front().param));
  std::int64_t offset = 0;
  std::vector<Pending::Part> parts;
  for (Entry& entry : bucket.entries) {
    const PartitionedParam& param = params_[entry.param];
    std::int64_t numel = param.numel();
    parts.push_back(
        {entry.param, offset + std::min(group.rank() * param.shard_numel(), param.numel())});
    if (entry.gradient.is_defined()) {
      Tensor target = flat.narrow({0, offset, numel});
      copy_(target,
            converted_unrounded(entry.gradient, flat.dtype()).contiguous().view(Dims{numel}));
    }
    offset += numel;
    entry.gradient = Tensor();
  }
  divide(flat);
  if (group.size() == 1) return take(parts, flat);
  CallContents contents(contents_of(bucket));
  record_collective("all_reduce", flat, group, group);
  Work work = all_reduce_async(flat, ReduceOp::sum, group);
  pending_.push_back({std::move(parts), flat, std::move(work)});
}

void GradientShards::add_to_shard(ParamId id, const Tensor& reduced) {
  Tensor& shard = shards_[std::size_t(id)];
  Ledger::Uncharged host(settings_.is_offloaded);
  Tensor part = converted_unrounded(reduced, settings_.accumulation.value_or(params_[id].dtype()));
  shard = shard.is_defined() ? simmesh::add(shard, part) : part.clone();
}

void GradientShards::clear() { std::fill(shards_.begin(), shards_.end(), Tensor()); }

std::int64_t GradientShards::bucket_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [dtype, bucket] : buckets_)
    for (const Entry& entry : bucket.entries)
      if (entry.gradient.is_defined()) bytes += std::int64_t(entry.gradient.bytes());
  for (const Pending& pending : pending_) bytes += std::int64_t(pending.input.bytes());
  return bytes;
}

std::int64_t GradientShards::shard_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& shard : shards_)
    if (shard.is_defined()) bytes += std::int64_t(shard.bytes());
  return bytes;
}

}  // namespace simmesh::zero
