#include "core/arithmetic/reductions/vendor_orders.h"

#include <algorithm>
#include <cstring>

#include "core/arithmetic/reductions/combine.h"

namespace simmesh {

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

// Operands gives the members' values as the vendor adds them: NCCL scales each one first.
class Operands {
 public:
  Operands(const Reduction& reduction, bool scales_averages)
      : reduction_(reduction), element_(bytes_per_element(reduction.dtype)) {
    double members = double(reduction.operands.size());
    if (reduction.op == ReduceOp::premul_sum)
      factor_ = reduction.factor;
    else if (reduction.op == ReduceOp::avg && scales_averages)
      factor_ = double(float(1.0 / members));
    else
      return;
    scales_ = true;
  }

  std::byte* result(std::int64_t begin) const {
    return reduction_.result + std::size_t(begin) * element_;
  }

  // at returns count elements of a member from begin on; valid until the next call.
  const std::byte* at(std::size_t member, std::int64_t begin, std::int64_t count) {
    const std::byte* values = reduction_.operands[member] + std::size_t(begin) * element_;
    if (!scales_) return values;
    scaled_.resize(std::size_t(count) * element_);
    scale(scaled_.data(), values, factor_, reduction_.dtype, count);
    return scaled_.data();
  }

  void start(std::size_t member, std::int64_t begin, std::int64_t count) {
    std::memcpy(result(begin), at(member, begin, count), std::size_t(count) * element_);
  }

 private:
  const Reduction& reduction_;
  std::size_t element_;
  double factor_ = 1.0;
  bool scales_ = false;
  std::vector<std::byte> scaled_;
};

// Folds one chunk of a ring: starts at member `first` and visits all members, `direction` apart;
// the own operand comes first.
void fold_ring_chunk(const Reduction& reduction, Operands& operands, std::int64_t first,
                     std::int64_t direction, std::int64_t begin, std::int64_t count) {
  if (count <= 0) return;
  Combine combine = combine_of(reduction.op, reduction.dtype);
  auto members = std::int64_t(reduction.operands.size());
  auto member = [&](std::int64_t i) {
    return std::size_t(((first + direction * i) % members + members) % members);
  };
  operands.start(member(0), begin, count);
  std::byte* value = operands.result(begin);
  for (std::int64_t i = 1; i < members; ++i)
    combine(value, operands.at(member(i), begin, count), value, count);
}

void finish(const Reduction& reduction, bool divides) {
  if (divides && reduction.op == ReduceOp::avg)
    divide(reduction.result, double(reduction.operands.size()), reduction.dtype, reduction.count);
  if (reduction.hash)
    reduction.hash->update(
        {reduction.result, std::size_t(reduction.count) * bytes_per_element(reduction.dtype)});
}

// Returns where the elements of channel c begin; channels are contiguous and as equal as possible.
std::int64_t channel_begin(std::int64_t count, std::int64_t channels, std::int64_t c) {
  return std::min(divide_up(count, channels) * c, count);
}

}  // namespace

void NcclRingOrder::reduce(const Reduction& reduction) const {
  Operands operands(reduction, true);
  auto members = std::int64_t(reduction.operands.size());
  auto element = std::int64_t(bytes_per_element(reduction.dtype));
  if (reduction.owner >= 0) {
    fold_ring_chunk(reduction, operands, reduction.owner + 1, 1, 0, reduction.count);
    return finish(reduction, false);
  }
  for (std::int64_t channel = 0; channel < options_.channels; ++channel) {
    std::int64_t begin = channel_begin(reduction.count, options_.channels, channel);
    std::int64_t end = channel_begin(reduction.count, options_.channels, channel + 1);
    std::int64_t chunk = std::max<std::int64_t>(options_.chunk_bytes / element, 1);
    for (std::int64_t loop = begin; loop < end; loop += members * chunk) {
      std::int64_t rest = end - loop;
      if (rest < members * chunk)
        chunk = round_up(divide_up(rest, members), std::max<std::int64_t>(16 / element, 1));
      for (std::int64_t c = 0; c < members; ++c) {
        std::int64_t from = std::min(loop + c * chunk, end);
        fold_ring_chunk(reduction, operands, c + 1, 1, from, std::min(from + chunk, end) - from);
      }
    }
  }
  finish(reduction, false);
}

namespace {

// Returns the children of a host in the first binary tree over `hosts` hosts.
std::vector<std::int64_t> tree_children(std::int64_t host, std::int64_t hosts) {
  std::vector<std::int64_t> children;
  if (host == 0) {
    std::int64_t child = 1;
    while (child * 2 < hosts) child *= 2;
    if (hosts > 1) children.push_back(child);
    return children;
  }
  std::int64_t lowest = host & -host;
  if (lowest == 1) return children;
  children.push_back(host - lowest / 2);
  std::int64_t step = lowest / 2;
  while (step > 0 && host + step >= hosts) step /= 2;
  if (step > 0) children.push_back(host + step);
  return children;
}

}  // namespace

// Returns a tree. The second one is the first one mirrored over an even number of hosts, or shifted
// by one over an odd number.
NcclTreeOrder::Tree NcclTreeOrder::tree(std::size_t members, bool second) const {
  auto per_host = options_.ranks_per_host;
  std::int64_t hosts = divide_up(std::int64_t(members), per_host);
  auto outward = [&](std::int64_t host) {
    if (!second) return host;
    return hosts % 2 == 0 ? hosts - 1 - host : (host + 1) % hosts;
  };
  Tree result;
  result.nodes.resize(members);
  for (std::int64_t inner = 0; inner < hosts; ++inner) {
    std::int64_t first = outward(inner) * per_host;
    std::int64_t last = std::min(first + per_host, std::int64_t(members));
    for (std::int64_t rank = first; rank + 1 < last; ++rank)
      result.nodes[std::size_t(rank)].children.push_back(std::size_t(rank + 1));
    for (std::int64_t child : tree_children(inner, hosts))
      result.nodes[std::size_t(first)].children.push_back(std::size_t(outward(child) * per_host));
  }
  result.root = std::size_t(outward(0) * per_host);
  return result;
}

namespace {

// Folds a subtree's values into `value`: the own operand, then each child in turn.
void fold_subtree(const NcclTreeOrder::Tree& tree, std::size_t node, Combine combine,
                  Operands& operands, std::int64_t begin, std::int64_t count,
                  std::vector<std::byte>& value) {
  const std::byte* own = operands.at(node, begin, count);
  std::copy(own, own + value.size(), value.begin());
  for (std::size_t child : tree.nodes[node].children) {
    std::vector<std::byte> theirs(value.size());
    fold_subtree(tree, child, combine, operands, begin, count, theirs);
    combine(value.data(), value.data(), theirs.data(), count);
  }
}

}  // namespace

void NcclTreeOrder::reduce(const Reduction& reduction) const {
  constexpr std::int64_t block = 1024;
  Operands operands(reduction, true);
  Combine combine = combine_of(reduction.op, reduction.dtype);
  std::size_t element = bytes_per_element(reduction.dtype);
  Tree trees[2] = {tree(reduction.operands.size(), false), tree(reduction.operands.size(), true)};
  for (std::int64_t channel = 0; channel < options_.channels; ++channel) {
    std::int64_t end = channel_begin(reduction.count, options_.channels, channel + 1);
    const Tree& used = trees[2 * channel < options_.channels ? 0 : 1];
    std::int64_t at = channel_begin(reduction.count, options_.channels, channel);
    for (; at < end; at += block) {
      std::int64_t count = std::min(block, end - at);
      std::vector<std::byte> value(std::size_t(count) * element);
      fold_subtree(used, used.root, combine, operands, at, count, value);
      std::memcpy(operands.result(at), value.data(), value.size());
    }
  }
  finish(reduction, false);
}

void GlooRingOrder::reduce(const Reduction& reduction) const {
  Operands operands(reduction, false);
  auto members = std::int64_t(reduction.operands.size());
  auto element = std::int64_t(bytes_per_element(reduction.dtype));
  std::int64_t bytes = reduction.count * element;
  std::int64_t limit = element * ((std::int64_t(1) << 20) / element);
  std::int64_t segment = round_up(std::min(divide_up(bytes, 2 * members), limit), element);
  std::int64_t segments = round_up(std::max(divide_up(bytes, segment), 2 * members), members);
  std::int64_t chunk = segments / members * segment / element;
  for (std::int64_t c = 0; c < members; ++c) {
    std::int64_t begin = std::min(c * chunk, reduction.count);
    std::int64_t count = std::min(begin + chunk, reduction.count) - begin;
    fold_ring_chunk(reduction, operands, c - 1, -1, begin, count);
  }
  finish(reduction, true);
}

}  // namespace simmesh
