#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// scatter(x, index, updates, ..) and scatter_nd_add(x, index, updates): x is whole along dim 0 and
// cut otherwise as the updates are. Updates that are cut along dim 0 leave the output partial.
SpmdAnswer scatter(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  const SpmdTensor& index = call.tensor(1);
  const SpmdTensor& updates = call.tensor(2);
  if (index.shape.size() > updates.shape.size())
    refuse_argument(call, "The Index's rank [{}] should be less or equal to Updates' rank [{}].",
                    index.shape.size(), updates.shape.size());
  call.require_dims(x, 1);
  call.require_dims(updates, 1);
  std::string index_axes = letters(index.shape.size());
  std::string updates_axes = letters(updates.shape.size());
  AxisMeshDims merged =
      merge_axes(call, {{index_axes, call.single(index)}, {updates_axes, call.single(updates)}});
  std::string axes = letters(x.shape.size());
  axes[0] = '1';
  DistAttr output = merged.attr(axes);
  SpmdAnswer answer{.inputs = {output, merged.attr(index_axes), merged.attr(updates_axes)},
                    .outputs = {}};
  std::int64_t rows = merged.at(updates_axes[0]);
  if (rows >= 0) output.partial_status.emplace(rows, ReduceOp::sum);
  answer.outputs.push_back(output);
  return answer;
}

// take_along_axis(x, index, axis): x is whole along the axis, the index may be cut there. Other
// dims are cut alike where their sizes are equal.
SpmdAnswer take_along_axis(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  const SpmdTensor& index = call.tensor(1);
  if (x.shape.size() != index.shape.size())
    refuse_argument(call, "expected an index of {} dims, got {}", x.shape.size(),
                    index.shape.size());
  std::size_t axis = call.dim_of(call.integer(0), x.shape.size());
  std::string x_axes = letters(x.shape.size());
  for (std::size_t dim = 0; dim < x.shape.size(); ++dim)
    if (dim != axis && x.shape[dim] != index.shape[dim]) x_axes[dim] = '1';
  std::string index_axes = x_axes;
  x_axes[axis] = '1';
  Dims x_dims = call.single(x);
  x_dims[axis] = -1;
  AxisMeshDims merged = merge_axes(call, {{x_axes, x_dims}, {index_axes, call.single(index)}});
  return {.inputs = {merged.attr(x_axes), merged.attr(index_axes)},
          .outputs = {merged.attr(index_axes)}};
}

constexpr NamedSpmdRule scattering_rules[] = {
    {"scatter", scatter}, {"scatter_nd_add", scatter}, {"take_along_axis", take_along_axis}};

}  // namespace

gsl::span<const NamedSpmdRule> scattering_spmd_rules() { return scattering_rules; }

}  // namespace simmesh::paddle
