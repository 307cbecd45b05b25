#include "gate/tables/tensor.h"

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

// Checks that every rank gets equally many heads.
void check_heads(const GateTable& table, const nn::ModelNode& node, std::int64_t ranks) {
  if (node.kind == "attention") {
    std::int64_t heads = integer_or(node, "heads", 1);
    for (std::int64_t count : {heads, integer_or(node, "kv_heads", heads)})
      if (count % ranks != 0)
        table.reject("mesh",
                     fmt::format("a dim that divides the {} heads, got {} ranks", count, ranks));
  }
  for (const nn::ModelNode& child : node.children) check_heads(table, child, ranks);
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

GateTensor read_gate_tensor(GateTable& table, const GateLayout& layout,
                            const nn::ModelNode& model) {
  GateTensor tensor;
  tensor.mesh = table.word("mesh", layout.names.back(), layout.names);
  tensor.form.sequence_parallel = table.boolean("sequence_parallel", false);
  table.finish();
  check_heads(table, model, layout.shape[layout.index_of(tensor.mesh)]);
  nn::ModulePtr shapes = nn::build(model, {.device = nn::Device::meta});
  if (tensor_plan(*shapes, {}).empty())
    table.reject("mesh", "a model with attention, or with layers fc1 and fc2");
  if (drops_columns(model))
    table.reject("mesh", "a model without dropout between fc1 and fc2, which are cut");
  bool has_plain_blocks = has_kind(model, "block") && !has_kind(model, "moe");
  if (tensor.form.sequence_parallel && !has_plain_blocks)
    table.reject("sequence_parallel", "false for a model without blocks, or with experts");
  return tensor;
}

std::string tensor_entry(const GateTensor& tensor) {
  return fmt::format("{{ mesh = \"{}\", sequence_parallel = {} }}", tensor.mesh,
                     tensor.form.sequence_parallel);
}

}  // namespace simmesh
