#include "zero/stage3/partitioned_params.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/tensor/known_tensor.h"
#include "zero/fetch/collective_record.h"
#include "zero/stage3/quantized_gather.h"

namespace simmesh::zero {

PartitionedParams::PartitionedParams(std::vector<std::shared_ptr<PartitionedParam>> params,
                                     const PartitionGroups& groups, const GatherOptions& options)
    : params_(std::move(params)), groups_(groups), options_(options), pending_(params_.size()) {}

void PartitionedParams::gather(gsl::span<const ParamId> ids) {
  bool from_secondary = has_secondary(ids[0]);
  std::vector<PartitionedParam*> plain, quantized;
  for (ParamId id : ids) {
    PartitionedParam* param = params_[std::size_t(id)].get();
    bool in_8_bits =
        options_.quantizes_all || (options_.quantizes_frozen && !param->requires_grad());
    (in_8_bits ? quantized : plain).push_back(param);
  }
  auto handle = std::make_shared<Handle>();
  if (!quantized.empty())
    handle->push_back(
        std::make_unique<QuantizedGather>(std::move(quantized), groups_, from_secondary));
  if (!plain.empty())
    handle->push_back(
        std::make_unique<ParamGather>(std::move(plain), groups_, from_secondary, options_));
  for (ParamId id : ids) pending_[std::size_t(id)] = handle;
}

void PartitionedParams::wait(ParamId param) {
  std::shared_ptr<Handle> handle = std::exchange(pending_[std::size_t(param)], nullptr);
  for (auto& gather : *handle) gather->finish();
}

void PartitionedParams::release(ParamId param) { params_[std::size_t(param)]->drop(); }

bool PartitionedParams::has_secondary(ParamId param) const {
  return params_[std::size_t(param)]->secondary().is_defined();
}

void PartitionedParams::offload(const OffloadTo& to) {
  for (auto& param : params_) {
    auto bytes = std::int64_t(param->shard().bytes());
    bool is_worth_a_file = to.store && bytes >= to.file_bytes_min;
    if (is_worth_a_file && param->shard_numel() > to.buffer_numel)
      raise(ErrorKind::assertion_error, "zero/partitioned_params",
            "zero_optimization.offload_param.buffer_size: expected at least {}, the elements of "
            "the shard of {}, got {}",
            param->shard_numel(), param->name(), to.buffer_numel);
    param->offload(is_worth_a_file ? to.store : nullptr);
  }
  if (to.store) buffers_ = to.buffers;
}

bool PartitionedParams::is_absent(ParamId param) const {
  return params_[std::size_t(param)]->is_shard_absent();
}

void PartitionedParams::read_ahead(gsl::span<const FetchTrace::Need> ahead) {
  if (!buffers_) return;
  std::int64_t in_flight = 0, considered = 0, free = *buffers_;
  for (std::size_t i = 0; i < params_.size(); ++i) {
    if (pending_[i]) in_flight += params_[i]->numel();
    if (params_[i]->is_in_file() && !params_[i]->is_shard_absent()) --free;
  }
  for (const FetchTrace::Need& need : ahead) {
    if (considered > 2 * in_flight || free <= 0) return;
    const PartitionedParam& param = *params_[std::size_t(need.param)];
    if (param.is_shard_absent()) {
      param.prefetch_shard();
      --free;
    }
    considered += param.numel();
  }
}

void PartitionedParams::agree(std::string_view what, gsl::span<const std::int64_t> values) {
  const ProcessGroup& group = groups_.all;
  Ledger::Category category(MemoryCategory::other);
  auto count = std::int64_t(values.size());
  Tensor length = empty({1}, DType::int64), own = empty({count}, DType::int64);
  if (length.has_elements()) {
    length.mutable_values<std::int64_t>()[0] = count;
    auto elements = own.mutable_values<std::int64_t>();
    std::copy(values.begin(), values.end(), elements.begin());
  }
  auto refuse = [&](const std::string& difference) {
    raise(ErrorKind::runtime_error, "zero/coordinator",
          "rank {}: expected the {} of rank {}: {}; all ranks must run the same modules in the "
          "same order",
          group.owner().id(), what, group.members()[0], difference);
  };
  record_collective("broadcast", length, group, group);
  Tensor first_length = known_tensor(broadcast(length, 0, group), what);
  if (first_length.has_elements())
    if (std::int64_t first = first_length.values<std::int64_t>()[0]; first != count)
      refuse(fmt::format("{} entries there, {} here", first, count));
  record_collective("broadcast", own, group, group);
  Tensor first = known_tensor(broadcast(own, 0, group), what);
  if (!first.has_elements()) return;
  auto theirs = first.values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (theirs[i] != values[i])
      refuse(fmt::format("entry {} is {} there, {} here", i, theirs[i], values[i]));
}

void PartitionedParams::gather_blocking(gsl::span<const ParamId> ids) {
  std::vector<std::unique_ptr<ParamGather>> started;
  for (ParamId id : ids) {
    std::vector<PartitionedParam*> one = {params_[std::size_t(id)].get()};
    started.push_back(
        std::make_unique<ParamGather>(std::move(one), groups_, false, GatherOptions{}));
    if (options_.one_by_one) started.back()->finish();
  }
  for (auto& gather : started) gather->finish();
}

void PartitionedParams::drop_secondaries() {
  for (auto& param : params_)
    if (param->requires_grad()) param->drop_secondary();
}

}  // namespace simmesh::zero
