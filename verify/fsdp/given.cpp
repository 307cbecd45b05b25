#include "verify/fsdp/given.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/nn/given_gradients.h"
#include "core/tensor/convert.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/case_tensor.h"

namespace simmesh {

namespace {

bool is_within(const std::string& node, const std::string& module) {
  return module.empty() || node == module || node.rfind(module + ".", 0) == 0;
}

// Returns the policy's parameter dtype of the innermost wrap around a node: the longest name.
DType gradient_dtype(const FsdpPlan& plan, const std::string& node) {
  const WrapPlan* innermost = nullptr;
  std::size_t length = 0;
  for (const WrapPlan& wrap : plan.wraps) {
    for (const std::string& module : wrap.modules) {
      if (!is_within(node, module) || (innermost && module.size() <= length)) continue;
      innermost = &wrap;
      length = module.size();
    }
  }
  return innermost ? innermost->mp_policy.param_dtype.value_or(plan.model.dtype) : plan.model.dtype;
}

// Returns this rank's tensor-parallel part.
Tensor part_of(const Tensor& gradient, const std::string& path, const ShardedModel& sharded) {
  for (const auto& [name, dim] : sharded.plan().tensor_parallel)
    if (name == path && dim)
      return shard_part(gradient, *dim, sharded.mesh().size("tp"),
                        sharded.mesh().get_local_rank("tp"));
  return gradient;
}

// Adds the paths of the nodes that give gradients.
void add_paths(const nn::ModelNode& node, const std::string& parent,
               std::vector<std::string>& paths) {
  std::string path = parent.empty() ? node.name : parent + "." + node.name;
  if (node.kind == "params") paths.push_back(path);
  for (const nn::ModelNode& child : node.children) add_paths(child, path, paths);
}

}  // namespace

schema::Fields given_fields() {
  using namespace schema;
  return {required("given_grads", map(list(tuple({text(), shape_schema()})))),
          required("grad_rule", word({"wide", "small", "unit", "positive"})),
          required("grad_seed", seed())};
}

GivenPlan read_given(const RecordedCase& recorded, const TrainingModel& model) {
  GivenPlan plan;
  auto given = recorded.find("given_grads");
  if (!given) return plan;
  for (const std::string& path : given->keys()) {
    plan.nodes.push_back({path, {}});
    for (const CaseField& entry : (*given)[path].items()) {
      std::vector<CaseField> pair = entry.items();
      plan.nodes.back().parameters.emplace_back(pair[0].text(), pair[1].shape());
      require_elements(pair[1], pair[1].shape(), recorded["world"].integer());
    }
  }
  plan.data.rule = rule_from_string(recorded["grad_rule"].text());
  plan.data.seed = recorded["grad_seed"].unsigned64();
  plan.data.dtype = model.dtype;
  std::vector<std::string> paths;
  add_paths(model.node, "", paths);
  std::sort(paths.begin(), paths.end());
  if (paths != given->keys())
    given->reject(fmt::format("the nodes of kind params: {}", join_text(paths, ", ")));
  return plan;
}

void give_gradients(const GivenPlan& given, const ShardedModel& sharded, std::int64_t rank) {
  const FsdpPlan& plan = sharded.plan();
  std::int64_t number = plan.tensor_parallel.empty() ? rank : sharded.mesh().get_local_rank("dp");
  for (const GivenPlan::Node& each : given.nodes) {
    auto* node = dynamic_cast<nn::GivenGradients*>(&sharded.model().find(each.path));
    if (!node)
      raise(ErrorKind::value_error, "verify/fsdp/given", "expected a node of kind params at '{}'",
            each.path);
    std::vector<nn::NamedTensor> gradients;
    for (std::size_t i = 0; i < each.parameters.size(); ++i) {
      const auto& [name, shape] = each.parameters[i];
      Formula data = given.data;
      data.seed += 10 * i + 1000 * std::uint64_t(number);
      Tensor gradient = part_of(formula(shape, data), each.path + "." + name, sharded);
      gradients.emplace_back(name, converted(gradient, gradient_dtype(plan, each.path)));
    }
    node->give(std::move(gradients));
    node->set_localize([](const Tensor& parameter) {
      return parameter.distribution() ? DTensor::of(parameter).to_local() : parameter;
    });
  }
}

}  // namespace simmesh
