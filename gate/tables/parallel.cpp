#include "gate/tables/parallel.h"

#include <algorithm>
#include <limits>

#include "gate/tables/model.h"

namespace simmesh {

namespace {

GateReplicate read_replicate(GateTable& table, const GateLayout& layout,
                             const nn::ModelNode& model) {
  GateReplicate replicate;
  replicate.mesh = table.word("mesh", layout.names.front(), layout.names);
  replicate.bucket_bytes = table.integer("bucket_bytes", replicate.bucket_bytes,
                                         {1, std::numeric_limits<std::int64_t>::max()});
  // An expert that no token chose has no gradient on one device either.
  replicate.find_unused = table.boolean("find_unused", has_kind(model, "moe"));
  table.finish();
  return replicate;
}

std::optional<GateContext> read_context(GateTable& table, const GateLayout& layout,
                                        const nn::ModelNode& model, const GateParallel& beside) {
  auto key = table.table("context");
  if (!key) return std::nullopt;
  GateContext context = read_gate_context(*key, layout, model);
  if (beside.zero) table.reject_value("context", "one of context and zero", "both of them");
  auto sums = [&](const std::string& dim) { return dim == context.mesh; };
  if (beside.fsdp && std::none_of(beside.fsdp->mesh.begin(), beside.fsdp->mesh.end(), sums))
    table.reject_value("context", "a dim of fsdp.mesh, over which gradients are summed",
                       "another dim");
  return context;
}

// Reads parallel.tensor. The ranks of its dim take the same rows, so no other form may use it.
std::optional<GateTensor> read_tensor(GateTable& table, const GateLayout& layout,
                                      const nn::ModelNode& model, const GateParallel& beside) {
  auto key = table.table("tensor");
  if (!key) return std::nullopt;
  GateTensor tensor = read_gate_tensor(*key, layout, model);
  if (beside.zero || beside.context || beside.replicate)
    table.reject_value("tensor", "tensor alone, or together with fsdp",
                       "another form of parallelism beside it");
  if (beside.fsdp && std::find(beside.fsdp->mesh.begin(), beside.fsdp->mesh.end(), tensor.mesh) !=
                         beside.fsdp->mesh.end())
    table.reject_value("tensor", "a dim that fsdp.mesh doesn't have", tensor.mesh);
  return tensor;
}

// Reads parallel.expert. Rows are cut over its dim, so that tokens of other ranks come to the
// experts.
std::optional<GateExpert> read_expert(GateTable& table, const GateLayout& layout,
                                      const nn::ModelNode& model, const GateParallel& beside) {
  auto key = table.table("expert");
  if (!key) return std::nullopt;
  GateExpert expert = read_gate_expert(*key, layout, model, beside.fsdp ? &*beside.fsdp : nullptr);
  if (beside.zero) table.reject_value("expert", "one of expert and zero", "both of them");
  if (beside.tensor) table.reject_value("expert", "one of expert and tensor", "both of them");
  return expert;
}

}  // namespace

std::vector<std::string> GateParallel::row_dims() const {
  std::vector<std::string> dims;
  if (replicate) dims = {replicate->mesh};
  if (fsdp) dims = fsdp->mesh;
  if (zero) dims = {zero->mesh};
  if (expert && std::find(dims.begin(), dims.end(), expert->mesh) == dims.end())
    dims.push_back(expert->mesh);
  if (context) std::erase(dims, context->mesh);
  return dims;
}

std::int64_t GateParallel::parts(const GateLayout& layout) const {
  std::int64_t parts = 1;
  for (const std::string& dim : row_dims()) parts *= layout.shape[layout.index_of(dim)];
  return parts;
}

std::string_view GateParallel::form() const {
  constexpr std::string_view stages[] = {"zero0", "zero1", "zero2", "zero3"};
  if (zero) return stages[zero->stage()];
  if (fsdp || replicate) return fsdp ? "fsdp" : "replicate";
  if (context || tensor) return context ? "context" : "tensor";
  return expert ? "expert" : "single_device";
}

GateParallel read_gate_parallel(GateTable& table, const GateLayout& layout,
                                const nn::ModelNode& model) {
  GateParallel parallel;
  if (auto replicate = table.table("replicate"))
    parallel.replicate = read_replicate(*replicate, layout, model);
  if (auto fsdp = table.table("fsdp")) {
    if (parallel.replicate)
      table.reject_value("fsdp", "either fsdp or replicate; two dims in fsdp.mesh do both",
                         "both of them");
    parallel.fsdp = read_gate_fsdp(*fsdp, layout, model);
  }
  if (table.has("zero")) {
    if (parallel.replicate || parallel.fsdp)
      table.reject_value("zero", "one of fsdp, replicate and zero", "two of them");
    if (table.value("zero")->is_string()) {
      parallel.zero = read_gate_zero_file(table, "zero", layout);
    } else {
      std::optional<GateTable> keys = table.table("zero");
      parallel.zero = read_gate_zero(*keys, layout);
    }
  }
  parallel.context = read_context(table, layout, model, parallel);
  std::string checkpointing = table.word("activation_checkpointing", "none", {"none", "blocks"});
  parallel.tensor = read_tensor(table, layout, model, parallel);
  if (parallel.tensor && parallel.fsdp) parallel.fsdp->settings.cuts_over_mesh = true;
  parallel.expert = read_expert(table, layout, model, parallel);
  table.refuse("pipeline", "pipeline parallelism");
  table.finish();
  parallel.checkpoint_blocks = checkpointing == "blocks";
  if (parallel.checkpoint_blocks && !has_kind(model, "block"))
    table.reject("activation_checkpointing", "\"none\" for a model without blocks");
  return parallel;
}

GateParallel default_parallel(std::string_view form, const GateLayout& layout,
                              const nn::ModelNode& model) {
  toml::table defaults;
  if (form.starts_with("zero"))
    defaults.insert("zero", toml::table{{"stage", form.back() - '0'}});
  else if (form != "single_device")
    defaults.insert(form, toml::table());
  GateTable table(defaults, "", "parallel");
  return read_gate_parallel(table, layout, model);
}

}  // namespace simmesh
