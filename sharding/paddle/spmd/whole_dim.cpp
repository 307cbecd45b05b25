#include <algorithm>

#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/co_shard.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Ops that need some dims whole and run along the others: a cut of those dims is removed.

// Returns the layout with at most one mesh dim a tensor dim, and some dims whole.
DistAttr whole(const SpmdCall& call, const SpmdTensor& x, const std::vector<std::int64_t>& dims) {
  Dims single = call.single(x);
  for (std::int64_t dim : dims) single[call.dim_of(dim, single.size())] = -1;
  return attr_of(single);
}

DistAttr all_whole(const SpmdTensor& x) { return DistAttr::replicated(x.shape.size()); }

DistAttr without_dim(DistAttr attr, std::size_t dim) {
  attr.dims_mapping.erase(attr.dims_mapping.begin() + std::ptrdiff_t(dim));
  return attr;
}

// Returns the layout with co-shards, and some dims whole.
DistAttr whole_co_shards(const SpmdCall& call, const SpmdTensor& x,
                         const std::vector<std::int64_t>& dims) {
  DistAttr attr{.dims_mapping = x.attr.dims_mapping, .partial_status = {}};
  for (std::int64_t dim : dims) attr.dims_mapping[call.dim_of(dim, x.shape.size())].clear();
  return attr;
}

// softmax(x, axis): the output keeps only cuts that divide its dims.
SpmdAnswer softmax(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  DistAttr wanted = whole_co_shards(call, x, {call.integer(0)});
  DistAttr output = wanted;
  drop_uneven_cuts(output, x.shape, call.mesh_shape);
  return {.inputs = {wanted}, .outputs = {output}};
}

// argsort(x, axis, ..)
SpmdAnswer argsort(const SpmdCall& call) {
  DistAttr wanted = whole_co_shards(call, call.tensor(0), {call.integer(0)});
  return {.inputs = {wanted}, .outputs = {wanted, wanted}};
}

// argmax(x, axis, keepdims, flatten, dtype)
SpmdAnswer argmax(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  if (call.boolean(2)) {
    DistAttr output = call.boolean(1) ? all_whole(x) : DistAttr::replicated(1);
    return {.inputs = {all_whole(x)}, .outputs = {output}};
  }
  DistAttr wanted = whole(call, x, {call.integer(0)});
  std::size_t dim = call.dim_of(call.integer(0), x.shape.size());
  return {.inputs = {wanted}, .outputs = {call.boolean(1) ? wanted : without_dim(wanted, dim)}};
}

// cumsum(x, axis, flatten, exclusive, reverse)
SpmdAnswer cumsum(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  if (call.boolean(1)) return {.inputs = {all_whole(x)}, .outputs = {DistAttr::replicated(1)}};
  DistAttr wanted = whole(call, x, {call.integer(0)});
  return {.inputs = {wanted}, .outputs = {wanted}};
}

// topk(x, k, axis, largest, sorted)
SpmdAnswer topk(const SpmdCall& call) {
  DistAttr wanted = whole(call, call.tensor(0), {call.integer(1)});
  return {.inputs = {wanted}, .outputs = {wanted, wanted}};
}

// roll(x, shifts, axis): without an axis the tensor is rolled as if it were flat.
SpmdAnswer roll(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  std::vector<std::int64_t> dims = call.integers(1);
  DistAttr wanted = dims.empty() ? all_whole(x) : whole(call, x, dims);
  return {.inputs = {wanted}, .outputs = {wanted}};
}

// triu(x, diagonal) takes co-shards of the dims before the matrices and forgets them.
SpmdAnswer triu(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  return {.inputs = {whole_co_shards(call, x, {-2, -1})}, .outputs = {whole(call, x, {-2, -1})}};
}

void require_output_count(const SpmdCall& call, std::int64_t count) {
  constexpr std::int64_t outputs_max = 1 << 16;
  if (count < 0 || count > outputs_max)
    refuse_argument(call, "expected at most {} outputs, got {}", outputs_max, count);
}

// unbind(x, axis): a partial tensor stays partial until the op has it.
SpmdAnswer unbind(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  std::size_t dim = call.dim_of(call.integer(0), x.shape.size());
  DistAttr wanted = whole(call, x, {call.integer(0)});
  SpmdAnswer answer{.inputs = {}, .outputs = {}};
  require_output_count(call, x.shape[dim]);
  for (std::int64_t i = 0; i < x.shape[dim]; ++i)
    answer.outputs.push_back(without_dim(wanted, dim));
  wanted.partial_status = x.attr.partial_status;
  answer.inputs.push_back(wanted);
  return answer;
}

SpmdAnswer pieces(const SpmdCall& call, std::int64_t count, std::int64_t dim) {
  require_output_count(call, count);
  DistAttr wanted = whole(call, call.tensor(0), {dim});
  return {.inputs = {wanted},
          .outputs = std::vector<SpmdLayout>(std::size_t(count), SpmdLayout(wanted))};
}

// split(x, sections, axis) and split_with_num(x, num, axis)
SpmdAnswer split(const SpmdCall& call) {
  return pieces(call, std::int64_t(call.integers(0).size()), call.integer(1));
}
SpmdAnswer split_with_num(const SpmdCall& call) {
  return pieces(call, call.integer(0), call.integer(1));
}

// slice(x, axes, starts, ends, infer_flags, decrease_axis) and strided_slice(x, axes, starts, ends,
// strides). These rules don't know that a dim of one element may be dropped.
SpmdAnswer slice(const SpmdCall& call) {
  DistAttr wanted = whole(call, call.tensor(0), call.integers(0));
  return {.inputs = {wanted}, .outputs = {wanted}};
}

// nonzero(x) lists one row of indices for each element that isn't 0: nothing can be cut.
SpmdAnswer nonzero(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  merge_axes(call, {{std::string(x.shape.size(), '1'), call.single(x)}});
  return {.inputs = {all_whole(x)}, .outputs = {DistAttr::replicated(2)}};
}

constexpr NamedSpmdRule whole_dim_rules[] = {
    {"argmax", argmax},
    {"argmin", argmax},
    {"argsort", argsort},
    {"cumsum", cumsum},
    {"log_softmax", softmax},
    {"nonzero", nonzero},
    {"roll", roll},
    {"slice", slice},
    {"softmax", softmax},
    {"split", split},
    {"split_with_num", split_with_num},
    {"strided_slice", slice},
    {"topk", topk},
    {"triu", triu},
    {"unbind", unbind},
};

}  // namespace

gsl::span<const NamedSpmdRule> whole_dim_spmd_rules() { return whole_dim_rules; }

}  // namespace simmesh::paddle
