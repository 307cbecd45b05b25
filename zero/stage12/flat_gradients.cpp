#include "zero/stage12/flat_gradients.h"

#include <algorithm>
#include <map>

#include "collectives/collectives.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/flat.h"

namespace simmesh::zero {

FlatGradients::FlatGradients(FlatPartition& partition, const Config& config,
                             const ProcessGroup& group, Parameters parameters)
    : partition_(partition),
      group_(group),
      parameters_(std::move(parameters)),
      zero_(config.zero_optimization),
      capacity_(std::min(zero_.reduce_bucket_size, partition.numel())),
      communication_dtype_(config.torch_autocast.enabled ? std::nullopt
                                                         : config.communication_data_type),
      accumulation_dtype_(config.data_types.grad_accum_dtype) {
  if (parameters_.adds_gradients) return;
  double ranks = double(group.size());
  mean_ = {.before = ranks, .is_sum = config.sum_gradients};
  if (!zero_.reduce_scatter && !config.prescale_gradients) {
    mean_.before = config.gradient_predivide_factor;
    mean_.after = ranks / config.gradient_predivide_factor;
  }
}

DType FlatGradients::bucket_dtype(std::size_t parameter, const Tensor& gradient) const {
  if (auto lower = parameters_.lower_dtypes[parameter]) return *lower;
  return communication_dtype_.value_or(gradient.dtype());
}

// With reduce_scatter, what torch_autocast lowers is divided first and rounded then.
DType FlatGradients::kept_dtype(std::size_t parameter, const Tensor& gradient) const {
  bool is_divided_first = parameters_.lower_dtypes[parameter] && zero_.reduce_scatter;
  return is_divided_first ? gradient.dtype() : bucket_dtype(parameter, gradient);
}

Tensor FlatGradients::begun(const Tensor& flat, DType dtype) const {
  Tensor divided = mean_.begin(flat);
  return divided.dtype() == dtype ? divided : converted_unrounded(divided, dtype);
}

void FlatGradients::put(const FlatSegment& segment, const Tensor& part, Bucket& bucket) const {
  if (!zero_.contiguous_gradients) return put_part(segment, part, bucket.chunk);
  Tensor& buffer = bucket.buffers[0];
  if (!buffer.is_defined()) buffer = empty({capacity_}, part.dtype());
  Tensor place = buffer.narrow({0, bucket.chunk.numel, segment.count});
  copy_(place, part);
  put_part(segment, place, bucket.chunk);
}

void FlatGradients::put_part(const FlatSegment& segment, const Tensor& part, Chunk& chunk) {
  chunk.segments.push_back(segment);
  chunk.parts.push_back(part);
  chunk.numel += segment.count;
}

void FlatGradients::add(std::size_t parameter, const Tensor& gradient) {
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::communication);
  std::int64_t count = gradient.numel();
  if (count == 0) return;
  DType dtype = bucket_dtype(parameter, gradient);
  Bucket& bucket = buckets_[to_string(dtype)];
  if (bucket.chunk.numel + count > capacity_) reduce_bucket(bucket);
  bucket.chunk.dtype = dtype;
  DType kept = kept_dtype(parameter, gradient);
  Tensor flat = converted_unrounded(gradient.detach(), kept).contiguous().view(Dims{count});
  if (count > zero_.reduce_bucket_size) return reduce_large(parameter, flat, dtype);
  put({parameter, 0, count, 0}, flat, bucket);
}

void FlatGradients::flush() {
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::communication);
  for (auto& [dtype, bucket] : buckets_) reduce_bucket(bucket);
  while (!pending_.empty()) finish_oldest();
}

void FlatGradients::drop() {
  for (OwnedPiece& piece : partition_.pieces()) piece.gradient = Tensor();
}

std::int64_t FlatGradients::bucket_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [dtype, bucket] : buckets_) {
    std::int64_t of_buffers = 0;
    for (const Tensor& buffer : bucket.buffers)
      if (buffer.is_defined()) of_buffers += std::int64_t(buffer.bytes());
    bytes += of_buffers;
    for (const Tensor& part : bucket.chunk.parts)
      if (of_buffers == 0) bytes += std::int64_t(part.bytes());
  }
  return bytes;
}

void FlatGradients::reduce_bucket(Bucket& bucket) {
  if (bucket.chunk.segments.empty()) return;
  Chunk chunk = std::exchange(bucket.chunk, {});
  if (zero_.reduce_scatter && !zero_.use_multi_rank_bucket_allreduce)
    return reduce_to_owners(chunk);
  start(chunk, bucket.buffers[0]);
  if (zero_.overlaps() && group_.size() > 1) std::swap(bucket.buffers[0], bucket.buffers[1]);
}

// Each rank owns a separate piece of it; a chunk closes after it exceeded the size of a bucket.
void FlatGradients::reduce_large(std::size_t parameter, const Tensor& gradient, DType dtype) {
  if (!zero_.reduce_scatter) {
    Chunk whole{.dtype = dtype};
    put_part({parameter, 0, gradient.numel(), 0}, gradient, whole);
    return start(whole);
  }
  Chunk chunk{.dtype = dtype};
  for (const FlatSegment& segment : partition_.segments_of(parameter)) {
    put_part(segment, gradient.narrow({0, segment.first, segment.count}), chunk);
    bool is_full = chunk.numel > zero_.reduce_bucket_size;
    if (zero_.use_multi_rank_bucket_allreduce && is_full)
      start(std::exchange(chunk, {.dtype = dtype}));
  }
  if (!zero_.use_multi_rank_bucket_allreduce)
    reduce_to_owners(chunk);
  else if (!chunk.segments.empty())
    start(chunk);
}

void FlatGradients::reduce_to_owners(const Chunk& chunk) {
  std::map<std::int64_t, Chunk> by_owner;
  for (std::size_t i = 0; i < chunk.segments.size(); ++i) {
    const FlatSegment& given = chunk.segments[i];
    for (const FlatSegment& segment : partition_.segments_of(given.parameter)) {
      if (segment.first < given.first || segment.first >= given.first + given.count) continue;
      Tensor part = chunk.parts[i].narrow({0, segment.first - given.first, segment.count});
      put_part(segment, part, by_owner[segment.owner]);
    }
  }
  for (const auto& [owner, part] : by_owner) {
    Tensor sum = begun(flattened(part.parts, part.parts[0].dtype()), chunk.dtype);
    CallContents contents(contents_of(part));
    if (group_.size() > 1) sum = reduce(sum, ReduceOp::sum, owner, group_);
    if (owner == group_.rank()) take(part.segments, sum);
  }
}

std::string FlatGradients::contents_of(const Chunk& chunk) const {
  std::vector<std::string_view> names;
  for (const FlatSegment& segment : chunk.segments)
    names.push_back(parameters_.names[segment.parameter]);
  return join_text(names, ", ");
}

// The parts are the begin of the buffer, where there is one.
void FlatGradients::start(const Chunk& chunk, const Tensor& buffer) {
  Tensor parts = buffer.is_defined() ? buffer.narrow({0, 0, chunk.numel})
                                     : flattened(chunk.parts, chunk.parts[0].dtype());
  Tensor flat = begun(parts, chunk.dtype);
  CallContents contents(contents_of(chunk));
  if (group_.size() == 1) return take(chunk.segments, mean_.end(flat));
  pending_.push_back({chunk.segments, flat, all_reduce_async(flat, ReduceOp::sum, group_)});
  while (pending_.size() > (zero_.overlaps() ? 1 : 0)) finish_oldest();
}

void FlatGradients::finish_oldest() {
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  take(pending.segments, mean_.end(pending.work.wait()));
}

// Adds this rank's parts of a reduced chunk to its pieces. A segment holds all of a piece or
// nothing of it.
void FlatGradients::take(const std::vector<FlatSegment>& segments, const Tensor& reduced) {
  Ledger::Uncharged host(is_offloaded(zero_.offload_optimizer));
  Ledger::Category category(MemoryCategory::gradient);
  std::int64_t offset = 0;
  for (const FlatSegment& segment : segments) {
    OwnedPiece* piece = partition_.piece_of(segment.parameter);
    std::int64_t start = piece == nullptr ? -1 : piece->first - segment.first;
    if (start >= 0 && start < segment.count) {
      Tensor part = reduced.narrow({0, offset + start, piece->count});
      DType dtype =
          parameters_.lower_dtypes[segment.parameter] ? piece->master.dtype() : part.dtype();
      Tensor mine = converted_unrounded(part, accumulation_dtype_.value_or(dtype));
      piece->gradient =
          piece->gradient.is_defined() ? simmesh::add(piece->gradient, mine) : mine.clone();
    }
    offset += segment.count;
  }
}

}  // namespace simmesh::zero
