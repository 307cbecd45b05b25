#include "zero/stage3/quantized_reduce.h"

#include <algorithm>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/convert.h"
#include "core/tensor/flat.h"
#include "zero/fetch/collective_record.h"
#include "zero/stage3/quantize.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view reduce_source = "zero/quantized_reduce";

// Returns the largest number of groups, at most `most`, that cuts each of `parts` parts into groups
// of an even number of elements.
std::int64_t group_count(std::int64_t elements, std::int64_t parts, std::int64_t most) {
  std::int64_t part = elements / parts;
  for (std::int64_t each = std::max<std::int64_t>(most / parts, 1); each > 1; --each)
    if (part % (2 * each) == 0) return each * parts;
  return parts;
}

// Sends each member its share of codes and scales, and returns the received ones, by sender.
std::vector<Quantized> exchanged(const Quantized& values, const ProcessGroup& group,
                                 const ProcessGroup& all) {
  if (group.size() == 1) return {values};
  record_collective("all_to_all_single", values.codes, group, all);
  record_collective("all_to_all_single", values.scales, group, all);
  Tensor codes = all_to_all(values.codes, {.scatter_dim = 0, .gather_dim = 0}, group);
  Tensor scales = all_to_all(values.scales, {.scatter_dim = 0, .gather_dim = 0}, group);
  std::vector<Quantized> parts;
  std::int64_t bytes = codes.numel() / group.size();
  std::int64_t groups = scales.numel() / group.size();
  for (std::int64_t i = 0; i < group.size(); ++i)
    parts.push_back(
        {codes.narrow({0, i * bytes, bytes}), scales.narrow({0, i * groups, groups}), values.bits});
  return parts;
}

Tensor half_sum(const std::vector<Quantized>& parts) {
  Tensor sum;
  for (const Quantized& part : parts) {
    Tensor values = dequantized(part, DType::float16);
    sum = sum.is_defined() ? add(sum, values) : values;
  }
  return sum;
}

Tensor in_hop_order(const Tensor& flat, const NodeGroups& groups) {
  std::int64_t part = flat.numel() / groups.ranks();
  std::vector<Tensor> parts;
  for (std::int64_t i : hop_order(groups.across.size(), groups.within.size()))
    parts.push_back(flat.narrow({0, i * part, part}));
  return flattened(parts, flat.dtype());
}

}  // namespace

NodeGroups NodeGroups::of(const ProcessGroup& group, std::int64_t ranks_per_node) {
  if (ranks_per_node < 1 || group.size() % ranks_per_node != 0)
    raise(ErrorKind::value_error, reduce_source,
          "expected a number of ranks per node that divides {}, got {}", group.size(),
          ranks_per_node);
  std::vector<std::int64_t> within, across;
  std::int64_t node = group.rank() / ranks_per_node, place = group.rank() % ranks_per_node;
  for (std::int64_t i = 0; i < ranks_per_node; ++i)
    within.push_back(std::int64_t(group.members()[node * ranks_per_node + i]));
  for (std::int64_t i = place; i < group.size(); i += ranks_per_node)
    across.push_back(std::int64_t(group.members()[i]));
  return {group, ProcessGroup::of(RankList::of(within), "within node"),
          ProcessGroup::of(RankList::of(across), "across nodes")};
}

bool can_reduce_quantized(DimSpan shape, std::int64_t ranks) {
  std::int64_t elements = numel(shape);
  return shape.size() >= 2 && elements > 0 && elements % (2 * ranks) == 0;
}

std::vector<std::int64_t> hop_order(std::int64_t nodes, std::int64_t ranks_per_node) {
  std::vector<std::int64_t> order;
  for (std::int64_t place = 0; place < ranks_per_node; ++place)
    for (std::int64_t node = 0; node < nodes; ++node)
      order.push_back(node * ranks_per_node + place);
  return order;
}

Tensor reduce_quantized(const Tensor& gradient, const NodeGroups& groups) {
  NoGrad mode;
  std::int64_t ranks = groups.ranks(), elements = gradient.numel();
  if (!can_reduce_quantized(gradient.shape(), ranks))
    raise(ErrorKind::value_error, reduce_source,
          "expected a gradient with two dims and a multiple of {} elements, got the shape {}",
          2 * ranks, simmesh::to_string(DimSpan(gradient.shape())));
  Tensor flat = gradient.detach().contiguous().view(Dims{elements});
  std::int64_t most = std::max({gradient.size(0), gradient.size(1), ranks});
  std::int64_t count = group_count(elements, ranks, most);
  Quantized first = quantized(in_hop_order(flat, groups), count, 4);
  Tensor node_sum = half_sum(exchanged(first, groups.within, groups.all));
  Quantized second = quantized(node_sum, count / groups.within.size(), 4);
  Tensor sum = half_sum(exchanged(second, groups.across, groups.all));
  return div(converted(sum, gradient.dtype()), double(ranks));
}

}  // namespace simmesh::zero
