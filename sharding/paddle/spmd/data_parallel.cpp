#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Returns a layout in which at most the first dim is cut.
DistAttr batch_attr(const SpmdTensor& tensor, std::int64_t mesh_dim) {
  DistAttr attr = DistAttr::replicated(tensor.shape.size());
  if (mesh_dim >= 0) attr.dims_mapping.front() = {mesh_dim};
  return attr;
}

// The rule for any op whose tensors all have the batch first: the batch is cut alike everywhere,
// nothing else is cut. The arguments are the inputs, then the outputs.
SpmdAnswer batch_cut(const SpmdCall& call) {
  std::vector<AxisOperand> operands;
  for (std::size_t list : {0, 1})
    for (const SpmdTensor& tensor : call.tensors(list)) call.require_dims(tensor, 1);
  for (const SpmdTensor& tensor : call.tensors(0))
    operands.push_back({"b", {call.single(tensor).front()}});
  std::int64_t mesh_dim = merge_axes(call, operands).at('b');
  SpmdAnswer answer;
  for (const SpmdTensor& tensor : call.tensors(0))
    answer.inputs.push_back(batch_attr(tensor, mesh_dim));
  for (const SpmdTensor& tensor : call.tensors(1))
    answer.outputs.push_back(batch_attr(tensor, mesh_dim));
  return answer;
}

// The rule for any op at all: nothing is cut.
SpmdAnswer nothing_cut(const SpmdCall& call) {
  SpmdAnswer answer;
  for (const SpmdTensor& tensor : call.tensors(0))
    answer.inputs.push_back(DistAttr::replicated(tensor.shape.size()));
  for (const SpmdTensor& tensor : call.tensors(1))
    answer.outputs.push_back(DistAttr::replicated(tensor.shape.size()));
  return answer;
}

constexpr NamedSpmdRule data_parallel_rules[] = {
    {"default_", batch_cut}, {"default_data_parallel", batch_cut}, {"replicated", nothing_cut}};

}  // namespace

gsl::span<const NamedSpmdRule> data_parallel_spmd_rules() { return data_parallel_rules; }

}  // namespace simmesh::paddle
