#include "verify/paddle/flex_exchange.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh {

namespace {

using checkpoint::Box;
using checkpoint::FlatRange;
using checkpoint::FlexShard;
using checkpoint::FlexStorage;

Dims index_of(const Shape& shape, std::int64_t place) {
  Dims index(shape.size(), 0);
  for (std::size_t dim = shape.size(); dim-- > 0; place /= shape[dim])
    index[dim] = place % shape[dim];
  return index;
}

// Returns the smallest box around a range whose elements lie together: whole rows where it has
// more than a part of one.
Box box_around(const Shape& shape, const FlatRange& range) {
  if (range.numel() == 0) return {Dims(shape.size(), 0), Shape(shape.size(), 0)};
  Dims first = index_of(shape, range.begin), last = index_of(shape, range.end - 1);
  Box box{first, Shape(shape.size(), 1)};
  std::size_t dim = 0;
  while (dim < shape.size() && first[dim] == last[dim]) ++dim;
  if (dim == shape.size()) return box;
  box.sizes[dim] = last[dim] - first[dim] + 1;
  for (++dim; dim < shape.size(); ++dim) {
    box.offsets[dim] = 0;
    box.sizes[dim] = shape[dim];
  }
  return box;
}

Box box_of(const FlexShard& shard) {
  return shard.range ? box_around(shard.global_shape, *shard.range) : shard.box;
}

// Returns the range of all elements of a box around a range.
FlatRange range_of(const Shape& shape, const Box& box) {
  std::int64_t begin = checkpoint::element_offset(box.offsets, contiguous_strides(shape));
  return {begin, begin + numel(box.sizes)};
}

bool is_complete(const FlexShard& shard) {
  return !shard.range || numel(box_of(shard).sizes) == shard.range->numel();
}

// Paddle's name of a range among others of its tensor.
std::string name_of_range(const FlexShard& shard) {
  std::vector<std::string> offsets;
  for (std::int64_t offset : shard.box.offsets) offsets.push_back(std::to_string(offset));
  return fmt::format("{}.global_offset.({}{})", shard.key, join_text(offsets, ", "),
                     offsets.size() == 1 ? "," : "");
}

// Returns the rank that reads the file of each stored shard.
std::vector<std::size_t> readers(const std::vector<FlexStorage>& storage,
                                 const checkpoint::FlexLoadPlan& plan) {
  std::vector<std::size_t> result(storage.size(), 0);
  for (std::size_t rank = 0; rank < plan.files.size(); ++rank)
    for (std::size_t file : plan.files[rank])
      for (std::size_t i = 0; i < storage.size(); ++i)
        if (storage[i].rank == file) result[i] = rank;
  return result;
}

std::vector<FlexItem> completions(const std::vector<FlexStorage>& storage,
                                  const std::vector<std::size_t>& reader) {
  std::vector<FlexItem> items;
  for (std::size_t i = 0; i < storage.size(); ++i) {
    const FlexShard& whole = storage[i].shard;
    if (is_complete(whole)) continue;
    FlatRange wanted = range_of(whole.global_shape, box_of(whole));
    for (std::size_t j = 0; j < storage.size(); ++j) {
      const FlexShard& part = storage[j].shard;
      if (part.key != whole.key || is_complete(part)) continue;
      std::int64_t begin = std::max(wanted.begin, part.range->begin);
      std::int64_t end = std::min(wanted.end, part.range->end);
      if (begin < end)
        items.push_back({name_of_range(part), reader[j], reader[i], storage[j].rank,
                         Dims{part.range->begin}, Dims{begin - part.range->begin},
                         Dims{begin - wanted.begin}, Shape{end - begin}, Dims{wanted.begin}});
    }
  }
  return items;
}

std::vector<FlexItem> box_exchange(const std::vector<FlexStorage>& storage,
                                   const std::vector<std::vector<FlexShard>>& wanted,
                                   const std::vector<std::size_t>& reader) {
  std::vector<FlexItem> items;
  for (std::size_t rank = 0; rank < wanted.size(); ++rank)
    for (const FlexShard& shard : wanted[rank]) {
      Box target = box_of(shard);
      for (std::size_t i = 0; i < storage.size(); ++i) {
        if (storage[i].replica != 0 || storage[i].shard.key != shard.key) continue;
        Box source = box_of(storage[i].shard);
        auto common = checkpoint::intersection(target, source);
        if (!common) continue;
        items.push_back({shard.key, reader[i], rank, storage[i].rank, source.offsets,
                         checkpoint::relative_to(*common, source).offsets,
                         checkpoint::relative_to(*common, target).offsets, common->sizes,
                         target.offsets});
      }
    }
  return items;
}

}  // namespace

std::vector<std::vector<FlexItem>> flex_exchanges(const std::vector<FlexStorage>& storage,
                                                  const std::vector<std::vector<FlexShard>>& wanted,
                                                  const checkpoint::FlexLoadPlan& plan) {
  std::vector<std::size_t> reader = readers(storage, plan);
  std::vector<std::vector<FlexItem>> exchanges;
  bool has_ranges = std::any_of(storage.begin(), storage.end(), [](const FlexStorage& stored) {
    return stored.shard.range.has_value();
  });
  if (has_ranges) exchanges.push_back(completions(storage, reader));
  exchanges.push_back(box_exchange(storage, wanted, reader));
  return exchanges;
}

}  // namespace simmesh
