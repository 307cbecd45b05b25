#include "sharding/paddle/spmd/spmd_rules.h"

#include <map>

namespace simmesh::paddle {

namespace {

using RuleTable = std::map<std::string_view, SpmdRule>;

const RuleTable& rule_table() {
  static const RuleTable table = [] {
    RuleTable made;
    for (gsl::span<const NamedSpmdRule> family :
         {attention_spmd_rules(), convolution_spmd_rules(), data_parallel_spmd_rules(),
          elementwise_spmd_rules(), indexing_spmd_rules(), joining_spmd_rules(), loss_spmd_rules(),
          normalization_spmd_rules(), product_spmd_rules(), reduction_spmd_rules(),
          reshaping_spmd_rules(), scattering_spmd_rules(), whole_dim_spmd_rules()})
      for (const NamedSpmdRule& named : family) made.emplace(named.op, named.rule);
    return made;
  }();
  return table;
}

}  // namespace

SpmdAnswer infer_spmd(const SpmdCall& call) {
  auto found = rule_table().find(call.op);
  if (found == rule_table().end())
    raise(ErrorKind::key_error, "sharding/paddle", "expected an op with a sharding rule, got '{}'",
          call.op);
  if (numel(call.mesh_shape) < 1)
    raise(ErrorKind::value_error, "sharding/paddle", "expected a mesh with ranks, got {}",
          simmesh::to_string(call.mesh_shape));
  for (const SpmdArgument& argument : call.inputs)
    for (const SpmdTensor& tensor : argument.tensors)
      require_valid(tensor.attr, tensor.shape.size(), call.mesh_shape.size(), "sharding/paddle");
  return found->second(call);
}

std::vector<std::string_view> spmd_ops() {
  std::vector<std::string_view> ops;
  for (const auto& [op, rule] : rule_table()) ops.push_back(op);
  return ops;
}

}  // namespace simmesh::paddle
