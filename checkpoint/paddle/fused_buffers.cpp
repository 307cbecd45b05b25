#include "checkpoint/paddle/fused_buffers.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "checkpoint/paddle/sharding_buffers.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

std::vector<std::int64_t> numels_of(const std::vector<FusedTensor>& tensors,
                                    const std::vector<std::size_t>& indices) {
  std::vector<std::int64_t> numels;
  for (std::size_t index : indices) numels.push_back(numel(tensors[index].shape));
  return numels;
}

std::vector<std::size_t> taken(const std::vector<std::size_t>& from,
                               const std::vector<std::size_t>& places) {
  std::vector<std::size_t> result;
  for (std::size_t place : places) result.push_back(from[place]);
  return result;
}

}  // namespace

FusedBuffers::FusedBuffers(std::vector<FusedTensor> tensors, const FusedLayout& layout,
                           const ProcessGroup& group)
    : tensors_(std::move(tensors)),
      layout_(layout),
      rank_(group.rank()),
      ranks_(group.size()),
      pieces_(tensors_.size()) {
  if (layout.buffer_bytes <= 0)
    raise(ErrorKind::value_error, "checkpoint/fused_buffers",
          "expected buffers of at least one byte, got {}", layout.buffer_bytes);
  if (layout.version == ShardingVersion::v1) {
    add_whole_tensors();
    return;
  }
  std::vector<std::size_t> runs, rows;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    bool has_rows = layout.version == ShardingVersion::v3 && tensors_[i].shape.size() > 1;
    (has_rows ? rows : runs).push_back(i);
  }
  add_runs(runs);
  add_rows(rows);
}

void FusedBuffers::add_buffer(std::int64_t numel) {
  buffers_.push_back(zeros(Shape{numel}, layout_.dtype));
}

void FusedBuffers::add_whole_tensors() {
  std::vector<std::size_t> all(tensors_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> own =
      whole_parameter_owners(numels_of(tensors_, all), ranks_)[std::size_t(rank_)];
  for (const std::vector<std::size_t>& group :
       bucket_groups(numels_of(tensors_, own), layout_.dtype, layout_.buffer_bytes)) {
    std::vector<std::size_t> members = taken(own, group);
    std::vector<std::int64_t> numels = numels_of(tensors_, members);
    FlatBuffer buffer = flat_buffer(numels, layout_.dtype);
    for (std::size_t i = 0; i < members.size(); ++i)
      pieces_[members[i]] = {buffers_.size(), buffer.offset[i], {0, numels[i]}};
    add_buffer(buffer.numel);
  }
}

void FusedBuffers::add_runs(const std::vector<std::size_t>& tensors) {
  for (const std::vector<std::size_t>& group :
       bucket_groups(numels_of(tensors_, tensors), layout_.dtype, layout_.buffer_bytes)) {
    std::vector<std::size_t> members = taken(tensors, group);
    ReduceScatterBuffer buffer =
        reduce_scatter_buffer(numels_of(tensors_, members), layout_.dtype, ranks_);
    std::int64_t run = buffer.numel / ranks_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::optional<BufferSlice>& slice = buffer.slices[std::size_t(rank_)][i];
      // A slice may be all padding.
      if (!slice || slice->end - slice->begin == slice->padding) continue;
      pieces_[members[i]] = {
          buffers_.size(),
          slice->begin - run * rank_,
          {slice->begin - buffer.index[i], slice->end - slice->padding - buffer.index[i]}};
    }
    add_buffer(run);
  }
}

void FusedBuffers::add_rows(const std::vector<std::size_t>& tensors) {
  for (const std::vector<std::size_t>& group :
       bucket_groups(numels_of(tensors_, tensors), layout_.dtype, layout_.buffer_bytes)) {
    std::vector<FlatRange> ranges;
    std::vector<std::int64_t> numels;
    for (std::size_t index : taken(tensors, group)) {
      const Shape& shape = tensors_[index].shape;
      BufferSlice rows = row_partition(shape[0], ranks_)[std::size_t(rank_)];
      std::int64_t row = numel(Shape(shape.begin() + 1, shape.end()));
      ranges.push_back({rows.begin * row, rows.end * row});
      numels.push_back(ranges.back().numel());
    }
    FlatBuffer buffer = flat_buffer(numels, layout_.dtype);
    for (std::size_t i = 0; i < group.size(); ++i)
      pieces_[tensors[group[i]]] = {buffers_.size(), buffer.offset[i], ranges[i]};
    add_buffer(buffer.numel);
  }
}

Tensor FusedBuffers::values(std::size_t tensor) const {
  const FusedPiece& piece = pieces_[tensor];
  if (piece.range.numel() == 0) return empty(Shape{0}, layout_.dtype);
  return buffers_[piece.buffer].narrow({0, piece.begin, piece.range.numel()});
}

void FusedBuffers::add_to(StateDict& state, const std::string& prefix) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    state.add(prefix + tensors_[i].name, FlatShard{values(i), tensors_[i].shape, pieces_[i].range});
}

namespace {

std::vector<std::int64_t> held_numels(const FusedBuffers& tensors,
                                      const std::vector<std::size_t>& held) {
  std::vector<std::int64_t> numels;
  for (std::size_t index : held) numels.push_back(tensors.pieces()[index].range.numel());
  return numels;
}

}  // namespace

FusedAdamStates::FusedAdamStates(const FusedBuffers& tensors) : tensors_(tensors) {
  for (std::size_t i = 0; i < tensors.pieces().size(); ++i)
    if (tensors.pieces()[i].range.numel() > 0) held_.push_back(i);
  buffer_ = zeros(Shape{fused_states(held_numels(tensors, held_)).numel}, DType::float32);
}

void FusedAdamStates::add_to(StateDict& state) const {
  FusedStates places = fused_states(held_numels(tensors_, held_));
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const FusedTensor& tensor = tensors_.tensors()[held_[i]];
    FlatRange range = tensors_.pieces()[held_[i]].range;
    auto add_piece = [&](const std::string& name, const FusedStates::Range& place) {
      state.add(name,
                FlatShard{buffer_.narrow({0, place.first, range.numel()}), tensor.shape, range});
    };
    auto add_power = [&](const char* name, const FusedStates::Range& place) {
      state.add("optim." + tensor.name + name, buffer_.narrow({0, place.first, 1}));
    };
    add_piece("optim." + tensor.name + ".exp_avg", places.moment1[i]);
    add_piece("optim." + tensor.name + ".exp_avg_sq", places.moment2[i]);
    add_power(".beta1_pow_acc", places.beta1_pow_acc[i]);
    add_power(".beta2_pow_acc", places.beta2_pow_acc[i]);
    add_piece("master." + tensor.name, places.master[i]);
  }
}

}  // namespace simmesh::checkpoint
