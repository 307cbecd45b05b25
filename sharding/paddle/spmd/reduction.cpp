#include <algorithm>

#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Reduces the dims (all where there are none); a cut of one makes the result partial. Whatever the
// op is, Paddle's rules for programs call the partial value a sum.
SpmdAnswer reduced(const SpmdCall& call, const std::vector<std::int64_t>& dims, bool keep_dim,
                   ReduceOp op = ReduceOp::sum) {
  const SpmdTensor& x = call.tensor(0);
  std::vector<bool> is_reduced(x.shape.size(), dims.empty());
  for (std::int64_t dim : dims) is_reduced[call.dim_of(dim, x.shape.size())] = true;
  std::string axes = letters(x.shape.size()), kept;
  for (std::size_t dim = 0; dim < axes.size(); ++dim) {
    if (!is_reduced[dim])
      kept += axes[dim];
    else if (keep_dim)
      kept += '1';
  }
  AxisMeshDims merged = merge_axes(call, {{axes, call.single(x)}});
  return {.inputs = {merged.attr(axes)}, .outputs = {merged.partial_attr(kept, op)}};
}

SpmdAnswer reduction(const SpmdCall& call) {
  return reduced(call, call.integers(0), call.boolean(1));
}

SpmdAnswer mean_all(const SpmdCall& call) { return reduced(call, {}, false, ReduceOp::avg); }

// p_norm(x, porder, axis, epsilon, keepdim, asvector)
SpmdAnswer p_norm(const SpmdCall& call) {
  std::vector<std::int64_t> dims;
  if (!call.boolean(4)) dims.push_back(call.integer(1));
  return reduced(call, dims, call.boolean(3));
}

constexpr NamedSpmdRule reduction_rules[] = {
    {"all", reduction},
    {"amax", reduction},
    {"amin", reduction},
    {"any", reduction},
    {"frobenius_norm", reduction},
    {"logsumexp", reduction},
    {"max", reduction},
    {"mean_all", mean_all},
    {"min", reduction},
    {"p_norm", p_norm},
    {"prod", reduction},
    {"reduce_max", reduction},
    {"reduce_sum", reduction},
    {"sum", reduction},
};

}  // namespace

gsl::span<const NamedSpmdRule> reduction_spmd_rules() { return reduction_rules; }

}  // namespace simmesh::paddle
