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
                             const ProcessGroup& group, std::vector<std::string> names)
    : partition_(partition),
      group_(group),
      names_(std::move(names)),
      zero_(config.zero_optimization),
      capacity_(std::min(zero_.reduce_bucket_size, partition.numel())),
      communication_dtype_(config.communication_data_type),
      accumulation_dtype_(config.data_types.grad_accum_dtype) {
  double ranks = double(group.size());
  mean_ = {.before = ranks, .is_sum = config.sum_gradients};
  if (!zero_.reduce_scatter && !config.prescale_gradients) {
    mean_.before = config.gradient_predivide_factor;
    mean_.after = ranks / config.gradient_predivide_factor;
  }
}

DType FlatGradients::bucket_dtype(const Tensor& gradient) const {
  return communication_dtype_.value_or(gradient.dtype());
}

void FlatGradients::put(const FlatSegment& segment, Tensor part, Chunk& chunk) {
  if (zero_.contiguous_gradients && &chunk == &bucket_) {
    Tensor& buffer = buffers_[0];
    if (!buffer.is_defined() || buffer.dtype() != *dtype_) buffer = empty({capacity_}, *dtype_);
    Tensor place = buffer.narrow({0, chunk.numel, segment.count});
    copy_(place, part);
    part = place;
    chunk.fills_buffer = true;
  }
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
  DType dtype = bucket_dtype(gradient);
  bool is_full = bucket_.numel + count > capacity_;
  if (is_full || (dtype_ && *dtype_ != dtype)) reduce_bucket();
  dtype_ = dtype;
  Tensor flat = converted_unrounded(gradient.detach(), dtype).contiguous().view(Dims{count});
  if (count > zero_.reduce_bucket_size) return reduce_large(parameter, flat);
  put({parameter, 0, count, 0}, flat, bucket_);
}

void FlatGradients::flush() {
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::communication);
  reduce_bucket();
  while (!pending_.empty()) finish_oldest();
}

void FlatGradients::drop() {
  for (OwnedPiece& piece : partition_.pieces()) piece.gradient = Tensor();
}

std::int64_t FlatGradients::bucket_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& buffer : buffers_)
    if (buffer.is_defined()) bytes += std::int64_t(buffer.bytes());
  if (bytes > 0) return bytes;
  for (const Tensor& part : bucket_.parts) bytes += std::int64_t(part.bytes());
  return bytes;
}

void FlatGradients::reduce_bucket() {
  if (bucket_.segments.empty()) return;
  Chunk chunk = std::exchange(bucket_, {});
  if (zero_.reduce_scatter && !zero_.use_multi_rank_bucket_allreduce)
    reduce_to_owners(chunk);
  else
    start(chunk);
}

// Each rank owns a separate piece of it; a chunk closes after it exceeded the size of a bucket.
void FlatGradients::reduce_large(std::size_t parameter, const Tensor& gradient) {
  if (!zero_.reduce_scatter) {
    Chunk whole;
    put({parameter, 0, gradient.numel(), 0}, gradient, whole);
    return start(whole);
  }
  Chunk chunk;
  for (const FlatSegment& segment : partition_.segments_of(parameter)) {
    put(segment, gradient.narrow({0, segment.first, segment.count}), chunk);
    bool is_full = chunk.numel > zero_.reduce_bucket_size;
    if (zero_.use_multi_rank_bucket_allreduce && is_full) start(std::exchange(chunk, {}));
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
      put(segment, part, by_owner[segment.owner]);
    }
  }
  for (const auto& [owner, part] : by_owner) {
    Tensor sum = mean_.begin(flat_of(part));
    CallContents contents(contents_of(part));
    if (group_.size() > 1) sum = reduce(sum, ReduceOp::sum, owner, group_);
    if (owner == group_.rank()) take(part.segments, sum);
  }
}

Tensor FlatGradients::flat_of(const Chunk& chunk) const {
  if (chunk.fills_buffer) return buffers_[0].narrow({0, 0, chunk.numel});
  return flattened(chunk.parts, *dtype_);
}

std::string FlatGradients::contents_of(const Chunk& chunk) const {
  std::vector<std::string_view> names;
  for (const FlatSegment& segment : chunk.segments) names.push_back(names_[segment.parameter]);
  return join_text(names, ", ");
}

void FlatGradients::start(const Chunk& chunk) {
  Tensor flat = mean_.begin(flat_of(chunk));
  CallContents contents(contents_of(chunk));
  if (group_.size() == 1) return take(chunk.segments, mean_.end(flat));
  pending_.push_back({chunk.segments, flat, all_reduce_async(flat, ReduceOp::sum, group_)});
  while (pending_.size() > (zero_.overlaps() ? 1 : 0)) finish_oldest();
  if (zero_.overlaps() && chunk.fills_buffer) std::swap(buffers_[0], buffers_[1]);
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
      Tensor mine = converted_unrounded(part, accumulation_dtype_.value_or(part.dtype()));
      piece->gradient =
          piece->gradient.is_defined() ? simmesh::add(piece->gradient, mine) : mine.clone();
    }
    offset += segment.count;
  }
}

}  // namespace simmesh::zero
