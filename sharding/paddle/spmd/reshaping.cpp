#include <algorithm>

#include "sharding/paddle/spmd/co_shard.h"
#include "sharding/paddle/spmd/regrouped_dims.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Carries the cuts of a tensor over to the dims that are made of its dims. The cuts of joined dims
// move to the first one, as long as each follows the one before it without a gap and all together
// divide the first dim, before and after.
SpmdAnswer regrouped(const SpmdCall& call, const std::vector<DimGroup>& groups,
                     const Shape& output_shape) {
  const SpmdTensor& x = call.tensor(0);
  SpmdAnswer answer;
  DistAttr wanted = DistAttr::replicated(x.shape.size());
  DistAttr output = DistAttr::replicated(output_shape.size());
  wanted.partial_status = output.partial_status = x.attr.partial_status;
  for (const DimGroup& group : groups) {
    if (group.inputs.empty() || group.outputs.empty()) continue;
    std::size_t first = group.inputs.front();
    Dims cuts;
    if (group.inputs.size() == 1 && group.outputs.size() == 1) {
      cuts = x.attr.dims_mapping[first];
    } else {
      for (std::size_t input : group.inputs) {
        const Dims& further = x.attr.dims_mapping[input];
        Dims all = cuts;
        all.insert(all.end(), further.begin(), further.end());
        std::int64_t shards = shards_of(all, call.mesh_shape);
        bool is_even = x.shape[first] % shards == 0 || group.inputs.size() == 1;
        if (group.outputs.size() > 1)
          is_even = is_even && output_shape[group.outputs.front()] % shards == 0;
        if (further.empty() || !is_even) break;
        cuts = all;
      }
    }
    wanted.dims_mapping[first] = cuts;
    output.dims_mapping[group.outputs.front()] = cuts;
  }
  return {.inputs = {wanted}, .outputs = {output}};
}

// reshape(x, shape): -1 stands for the remaining size, 0 for the size that x has there.
SpmdAnswer reshape(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  Shape shape = reshape_target(x.shape, call.integers(0));
  return regrouped(call, reshape_groups(x.shape, shape), shape);
}

// flatten(x, start_axis, stop_axis)
SpmdAnswer flatten(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  std::size_t dims = x.shape.size();
  std::size_t start = call.dim_of(call.integer(0), dims);
  std::size_t stop = call.dim_of(call.integer(1), dims);
  std::vector<DimGroup> groups;
  Shape shape;
  for (std::size_t dim = 0; dim < dims; ++dim) {
    if (dim > start && dim <= stop) {
      if (groups.back().inputs.size() == 1 && shape.back() == 1) groups.back().inputs.clear();
      if (x.shape[dim] != 1) groups.back().inputs.push_back(dim);
      shape.back() *= x.shape[dim];
    } else {
      groups.push_back({.inputs = {dim}, .outputs = {shape.size()}});
      shape.push_back(x.shape[dim]);
    }
  }
  return regrouped(call, groups, shape);
}

// Returns the layout of the dims that stay, in a tensor with new ones; -1 for a new one. A partial
// tensor is reduced first.
SpmdAnswer rearranged(const SpmdCall& call, const std::vector<std::int64_t>& from) {
  Dims single = call.single(call.tensor(0));
  Dims wanted(single.size(), -1), output;
  for (std::int64_t dim : from) {
    if (dim >= 0) wanted[std::size_t(dim)] = single[std::size_t(dim)];
    output.push_back(dim < 0 ? -1 : single[std::size_t(dim)]);
  }
  return {.inputs = {attr_of(wanted)}, .outputs = {attr_of(output)}};
}

// squeeze(x, axes) drops dims of size 1, all of them where it names none. Dims of size 1 are never
// cut.
SpmdAnswer squeeze(const SpmdCall& call) {
  const Shape& shape = call.tensor(0).shape;
  std::vector<std::int64_t> axes = call.integers(0);
  std::vector<bool> is_named(shape.size(), axes.empty());
  for (std::int64_t axis : axes) is_named[call.dim_of(axis, shape.size())] = true;
  std::vector<std::int64_t> from;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != 1)
      from.push_back(std::int64_t(dim));
    else if (!is_named[dim])
      from.push_back(-1);
  }
  return rearranged(call, from);
}

// unsqueeze(x, axes): the axes are positions among the dims of the output, of which a negative one
// counts as if it were the only new one.
SpmdAnswer unsqueeze(const SpmdCall& call) {
  const Shape& shape = call.tensor(0).shape;
  std::vector<std::int64_t> axes = call.integers(0);
  std::vector<bool> is_new(shape.size() + axes.size(), false);
  for (std::int64_t axis : axes) {
    std::int64_t position = axis < 0 ? axis + std::int64_t(shape.size()) + 1 : axis;
    is_new[call.dim_of(position, is_new.size())] = true;
  }
  std::vector<std::int64_t> from;
  std::size_t dim = 0;
  for (bool added : is_new) {
    if (added || dim == shape.size()) {
      from.push_back(-1);
    } else {
      from.push_back(shape[dim] == 1 ? -1 : std::int64_t(dim));
      ++dim;
    }
  }
  return rearranged(call, from);
}

// transpose(x, perm) keeps partial mesh dims. The output keeps only cuts that divide its dims.
SpmdAnswer transpose(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  DistAttr output{.dims_mapping = {}, .partial_status = x.attr.partial_status};
  for (std::int64_t dim : call.integers(0)) {
    std::size_t from = call.dim_of(dim, x.shape.size());
    output.dims_mapping.push_back(x.attr.dims_mapping[from]);
    drop_uneven_cuts(output.dims_mapping.back(), x.shape[from], call.mesh_shape);
  }
  return {.inputs = {x.attr}, .outputs = {output}};
}

// tile(x, repeat_times): a repeated dim is whole; the counts belong to the last dims.
SpmdAnswer tile(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  std::vector<std::int64_t> counts = call.integers(0);
  DistAttr wanted{.dims_mapping = x.attr.dims_mapping, .partial_status = {}};
  std::size_t dims = x.shape.size(), all = std::max(dims, counts.size());
  for (std::size_t i = 0; i < dims; ++i) {
    std::size_t from_end = dims - i;
    if (from_end <= counts.size() && counts[counts.size() - from_end] != 1)
      wanted.dims_mapping[i].clear();
  }
  DistAttr output = wanted;
  output.dims_mapping.insert(output.dims_mapping.begin(), all - dims, Dims{});
  return {.inputs = {wanted}, .outputs = {output}};
}

// expand_as(x, y, target_shape): x follows y, but for the dims along which it is repeated.
SpmdAnswer expand_as(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  const SpmdTensor& y = call.tensor(1);
  if (x.shape.size() > y.shape.size())
    refuse_argument(call, "expected at most {} dims, got {}", y.shape.size(), x.shape.size());
  Dims output = call.single(y), wanted;
  std::size_t added = y.shape.size() - x.shape.size();
  for (std::size_t dim = 0; dim < x.shape.size(); ++dim)
    wanted.push_back(x.shape[dim] == y.shape[dim + added] ? output[dim + added] : -1);
  return {.inputs = {attr_of(wanted), attr_of(output)}, .outputs = {attr_of(output)}};
}

constexpr NamedSpmdRule reshaping_rules[] = {
    {"expand_as", expand_as}, {"flatten", flatten}, {"reshape", reshape},
    {"squeeze", squeeze},     {"tile", tile},       {"transpose", transpose},
    {"unsqueeze", unsqueeze},
};

}  // namespace

gsl::span<const NamedSpmdRule> reshaping_spmd_rules() { return reshaping_rules; }

}  // namespace simmesh::paddle
