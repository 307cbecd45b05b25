#include "sharding/paddle/spmd/aligned_inputs.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

std::vector<bool> all_dims(std::size_t count) { return std::vector<bool>(count, true); }

// concat(tensors, axis): the tensors are whole along the axis and cut alike along the others.
SpmdAnswer concat(const SpmdCall& call) {
  const std::vector<SpmdTensor>& tensors = call.tensors(0);
  std::size_t first = first_nonempty(call);
  std::size_t dims = tensors[first].shape.size();
  std::vector<bool> may_cut = all_dims(dims);
  may_cut[call.dim_of(call.integer(0), dims)] = false;
  std::vector<DistAttr> wanted = aligned_inputs(call, may_cut);
  DistAttr output{.dims_mapping = wanted[first].dims_mapping, .partial_status = {}};
  return {.inputs = {wanted}, .outputs = {output}};
}

// stack(tensors, axis): the tensors are cut alike; a mesh dim that is partial in all stays partial.
SpmdAnswer stack(const SpmdCall& call) {
  std::size_t first = first_nonempty(call);
  std::size_t dims = call.tensors(0)[first].shape.size();
  std::vector<DistAttr> wanted = aligned_inputs(call, all_dims(dims));
  std::size_t axis = call.dim_of(call.integer(0), dims + 1);
  DistAttr output = wanted[first];
  output.dims_mapping.insert(output.dims_mapping.begin() + std::ptrdiff_t(axis), Dims{});
  return {.inputs = {wanted}, .outputs = {output}};
}

constexpr NamedSpmdRule joining_rules[] = {{"concat", concat}, {"stack", stack}};

}  // namespace

gsl::span<const NamedSpmdRule> joining_spmd_rules() { return joining_rules; }

}  // namespace simmesh::paddle
