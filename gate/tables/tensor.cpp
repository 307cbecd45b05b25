#include "gate/tables/tensor.h"

#include <algorithm>
#include <fmt/format.h>

#include "gate/tables/model.h"

namespace simmesh {

namespace {

std::int64_t integer_or(const nn::ModelNode& node, const std::string& field,
                        std::int64_t otherwise) {
  auto found = node.fields.find(field);
  if (found == node.fields.end()) return otherwise;
  auto* value = std::get_if<std::int64_t>(&found->second);
  return value ? *value : otherwise;
}

void check_divides(const GateTable& table, std::int64_t count, const char* what,
                   std::int64_t ranks) {
  if (count % ranks != 0)
    table.reject_value("mesh", fmt::format("a dim that divides the {} {}", count, what),
                       fmt::format("{} ranks", ranks));
}

// Checks that every rank gets equally many heads, and equally many columns between fc1 and fc2: the
// layers pass plain pieces to each other.
void check_columns(const GateTable& table, const nn::ModelNode& node, std::int64_t ranks,
                   bool whole_experts) {
  if (node.kind == "attention") {
    std::int64_t heads = integer_or(node, "heads", 1);
    check_divides(table, heads, "heads", ranks);
    check_divides(table, integer_or(node, "kv_heads", heads), "heads", ranks);
  }
  if (node.kind == "gated_mlp")
    check_divides(table, integer_or(node, "hidden", ranks), "hidden columns", ranks);
  if (node.kind == "moe" && !whole_experts)
    check_divides(table, integer_or(node, "hidden", ranks), "hidden columns of an expert", ranks);
  bool has_second = std::any_of(node.children.begin(), node.children.end(),
                                [](const nn::ModelNode& child) { return child.name == "fc2"; });
  for (const nn::ModelNode& child : node.children) {
    if (has_second && child.name == "fc1")
      check_divides(table, integer_or(child, "out", ranks), "columns of fc1", ranks);
    check_columns(table, child, ranks, whole_experts);
  }
}

// True if there is dropout between the layers of a pair. Each rank has some columns there, and
// dropout would not know which.
bool drops_columns(const nn::ModelNode& node) {
  bool is_between = false;
  for (const nn::ModelNode& child : node.children) {
    if (child.name == "fc1") is_between = true;
    if (child.name == "fc2") is_between = false;
    if (drops_columns(child) || (is_between && has_kind(child, "dropout"))) return true;
  }
  return false;
}

}  // namespace

GateTensor read_gate_tensor(GateTable& table, const TensorUse& use) {
  GateTensor tensor;
  const nn::ModelNode& model = use.model;
  tensor.mesh = table.word("mesh", use.layout.names.back(), use.layout.names);
  tensor.form.sequence_parallel = table.boolean("sequence_parallel", false);
  table.finish();
  tensor.form.whole_experts = tensor.mesh == use.expert_dim || !use.splits_experts;
  check_columns(table, model, use.layout.shape[use.layout.index_of(tensor.mesh)],
                tensor.form.whole_experts);
  // Attention is always cut; only models without it need their shapes.
  if (!has_kind(model, "attention") &&
      tensor_plan(*nn::build(model, {.device = nn::Device::meta}), {}).empty())
    table.reject("mesh", "a model with attention, or with layers fc1 and fc2");
  if (drops_columns(model))
    table.reject("mesh", "a model without dropout between fc1 and fc2, which are cut");
  if (tensor.form.sequence_parallel && !has_kind(model, "block"))
    table.reject("sequence_parallel", "false for a model without blocks");
  return tensor;
}

std::string tensor_entry(const GateTensor& tensor) {
  return fmt::format("{{ mesh = \"{}\", sequence_parallel = {} }}", tensor.mesh,
                     tensor.form.sequence_parallel);
}

}  // namespace simmesh
