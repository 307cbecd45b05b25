#include "gate/tables/parallel.h"

#include <algorithm>
#include <fmt/format.h>
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

bool is_dim_of(const std::vector<std::string>& dims, const std::string& name) {
  return std::find(dims.begin(), dims.end(), name) != dims.end();
}

// Reads parallel.context. Gradients are summed over its dim. fully_shard shards over it, too, if
// its own dims don't have it.
void read_context(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                  GateParallel& parallel) {
  auto key = table.table("context");
  if (!key) return;
  parallel.context = read_gate_context(*key, layout, model);
  const std::string& dim = parallel.context->mesh;
  if (parallel.fsdp && !is_dim_of(parallel.fsdp->mesh, dim)) parallel.fsdp->sequence_dim = dim;
}

// Reads parallel.expert. Rows are cut over its dim, so that tokens of other ranks come to the
// experts, unless tensor has the same dim.
void read_expert(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                 GateParallel& parallel) {
  auto key = table.table("expert");
  if (!key) return;
  bool chooses = key->has("tensor_parallel");
  parallel.expert =
      read_gate_expert(*key, layout, model, parallel.fsdp ? &*parallel.fsdp : nullptr);
  if (chooses && !table.has("tensor"))
    key->reject("tensor_parallel", "no such key without parallel.tensor");
}

// Reads parallel.tensor. The ranks of its dim take the same rows, so no form that cuts rows or
// sequences may use it.
void read_tensor(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                 GateParallel& parallel) {
  auto key = table.table("tensor");
  if (!key) return;
  TensorUse use{.layout = layout, .model = model};
  if (parallel.expert) {
    use.expert_dim = parallel.expert->mesh;
    use.splits_experts = parallel.expert->tensor_parallel;
  }
  GateTensor tensor = read_gate_tensor(*key, use);
  auto refuse_dim = [&](std::string_view form) {
    table.reject_value("tensor", fmt::format("a dim that {} doesn't have", form), tensor.mesh);
  };
  if (parallel.zero && parallel.zero->mesh == tensor.mesh) refuse_dim("zero.mesh");
  if (parallel.fsdp && is_dim_of(parallel.fsdp->mesh, tensor.mesh)) refuse_dim("fsdp.mesh");
  if (parallel.replicate && parallel.replicate->mesh == tensor.mesh) refuse_dim("replicate.mesh");
  if (parallel.context && parallel.context->mesh == tensor.mesh) refuse_dim("context.mesh");
  parallel.tensor = std::move(tensor);
}

// Refuses what a stage of a pipeline can't do: it reduces its gradients once a step.
void check_stages(const GateTable& table, const GateParallel& parallel) {
  if (parallel.zero && !parallel.zero->file.empty())
    table.reject_value("pipeline", "zero as a table", "the path of a file");
  if (parallel.zero && parallel.zero->stage() > 1)
    table.reject_value("pipeline",
                       "zero of stage 0 or 1: from stage 2 on gradients are partitioned after each "
                       "micro-batch, which a pipeline adds up first, and DeepSpeed refuses it, too",
                       fmt::format("zero of stage {}", parallel.zero->stage()));
  if (!parallel.fsdp) return;
  const ShardedSettings& settings = parallel.fsdp->settings;
  if (settings.sync != SyncMode::last)
    table.reject_value("pipeline",
                       "fsdp.sync = \"last\": a stage reduces its gradients once a step",
                       "\"" + std::string(to_string(settings.sync)) + "\"");
  if (settings.backward_end != BackwardEnd::automatic)
    table.reject_value("pipeline",
                       "no fsdp.finalize_backward: the schedule ends the backward pass of a stage",
                       "\"" + std::string(to_string(settings.backward_end)) + "\"");
  if (!settings.reshard_after_backward)
    table.reject_value(
        "pipeline", "no fsdp.reshard_after_backward: the schedule says when a stage is resharded",
        "false");
}

// Reads parallel.pipeline. The ranks of its dim take the same rows, and have other parts of the
// model, so no other form may use it.
void read_pipeline(GateTable& table, const GateLayout& layout, const nn::ModelNode& model,
                   GateParallel& parallel) {
  auto key = table.table("pipeline");
  if (!key) return;
  GatePipeline pipeline = read_gate_pipeline(*key, layout, model);
  std::vector<std::string> others = parallel.row_dims();
  if (parallel.context) others.push_back(parallel.context->mesh);
  if (parallel.tensor) others.push_back(parallel.tensor->mesh);
  if (parallel.expert) others.push_back(parallel.expert->mesh);
  if (is_dim_of(others, pipeline.mesh))
    table.reject_value("pipeline", "a dim of its own, over which nothing else is cut",
                       pipeline.mesh);
  check_stages(table, parallel);
  parallel.pipeline = std::move(pipeline);
}

}  // namespace

std::vector<std::string> GateParallel::row_dims() const {
  std::vector<std::string> dims;
  if (replicate) dims = {replicate->mesh};
  if (fsdp) dims = fsdp->mesh;
  if (zero) dims = {zero->mesh};
  if (expert && !(tensor && tensor->mesh == expert->mesh) && !is_dim_of(dims, expert->mesh))
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
  if (expert) return "expert";
  return pipeline ? "pipeline" : "single_device";
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
  read_context(table, layout, model, parallel);
  std::string checkpointing = table.word("activation_checkpointing", "none", {"none", "blocks"});
  read_expert(table, layout, model, parallel);
  read_tensor(table, layout, model, parallel);
  read_pipeline(table, layout, model, parallel);
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
