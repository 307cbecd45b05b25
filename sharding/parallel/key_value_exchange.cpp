#include "sharding/parallel/key_value_exchange.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Tensor packed(const KeyValue& block) {
  return cat({reshape(block.k, {-1}), reshape(block.v, {-1})});
}

Shape with_length(Shape shape, std::int64_t length) {
  shape[2] = length;
  return shape;
}

// Returns the block of so many positions in a message; `like` has the other sizes.
KeyValue unpacked(const Tensor& message, const KeyValue& like, std::int64_t length) {
  Shape k = with_length(like.k.shape(), length), v = with_length(like.v.shape(), length);
  std::int64_t keys = numel(k), values = numel(v);
  return {view(narrow(message, {0, 0, keys}), k), view(narrow(message, {0, keys, values}), v)};
}

std::int64_t message_size(const KeyValue& like, std::int64_t length) {
  return numel(with_length(like.k.shape(), length)) + numel(with_length(like.v.shape(), length));
}

}  // namespace

std::vector<KeyValue> RingExchange::gather(const KeyValue& own, const Arrived& arrived) const {
  std::vector<KeyValue> blocks(static_cast<std::size_t>(group_.size()));
  Tensor message = packed(own);
  blocks[std::size_t(group_.rank())] = own;
  for (std::int64_t step = 0; step < group_.size(); ++step) {
    std::int64_t rank = neighbour(-step), next = neighbour(-step - 1);
    if (step + 1 == group_.size()) {
      arrived(rank, blocks[std::size_t(rank)]);
      break;
    }
    std::int64_t length = split_.length_of(next);
    Work in =
        irecv(Shape{message_size(own, length)}, message.dtype(), {.peer = neighbour(-1)}, group_);
    Work out = isend(message, {.peer = neighbour(1)}, group_);
    arrived(rank, blocks[std::size_t(rank)]);
    message = in.wait();
    out.wait();
    blocks[std::size_t(next)] = unpacked(message, own, length);
  }
  return blocks;
}

KeyValue RingExchange::sum_at_owners(std::vector<KeyValue> terms) const {
  KeepUnrounded scope;
  const KeyValue& own = terms[std::size_t(group_.rank())];
  Tensor sum;
  // The sum for a rank starts at the rank after it.
  for (std::int64_t step = 1; step <= group_.size(); ++step) {
    std::int64_t owner = neighbour(-step);
    Tensor part = packed(terms[std::size_t(owner)]);
    sum = sum.is_defined() ? add(sum, part) : part;
    if (step == group_.size()) break;
    std::int64_t next = neighbour(-step - 1);
    Work in = irecv(Shape{message_size(own, split_.length_of(next))}, sum.dtype(),
                    {.peer = neighbour(-1)}, group_);
    Work out = isend(sum, {.peer = neighbour(1)}, group_);
    sum = in.wait();
    out.wait();
  }
  return unpacked(rounded(sum), own, split_.length_of(group_.rank()));
}

std::vector<KeyValue> GatherExchange::gather(const KeyValue& own, const Arrived& arrived) const {
  std::vector<Tensor> messages = all_gather_list(packed(own), group_);
  std::vector<KeyValue> blocks;
  for (std::int64_t rank = 0; rank < group_.size(); ++rank) {
    blocks.push_back(unpacked(messages[std::size_t(rank)], own, split_.length_of(rank)));
    arrived(rank, blocks.back());
  }
  return blocks;
}

KeyValue GatherExchange::sum_at_owners(std::vector<KeyValue> terms) const {
  KeepUnrounded scope;
  const KeyValue& own = terms[std::size_t(group_.rank())];
  std::int64_t longest = 0;
  for (std::int64_t rank = 0; rank < group_.size(); ++rank)
    longest = std::max(longest, split_.length_of(rank));
  std::int64_t size = message_size(own, longest);
  std::vector<Tensor> messages;
  for (const KeyValue& term : terms) {
    Tensor message = packed(term);
    messages.push_back(pad(message, {0, size - message.size(0)}));
  }
  Tensor sum = reduce_scatter(cat(messages), ReduceOp::sum, {}, group_);
  std::int64_t length = split_.length_of(group_.rank());
  return unpacked(narrow(rounded(sum), {0, 0, message_size(own, length)}), own, length);
}

}  // namespace simmesh
