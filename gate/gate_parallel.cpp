#include "gate/gate_parallel.h"

#include <limits>

#include "gate/gate_model.h"

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

}  // namespace

std::int64_t GateParallel::parts(const GateLayout& layout) const {
  std::int64_t parts = 1;
  if (replicate) parts = layout.shape[layout.index_of(replicate->mesh)];
  if (fsdp)
    for (const std::string& dim : fsdp->mesh) parts *= layout.shape[layout.index_of(dim)];
  if (zero) parts = layout.shape[layout.index_of(zero->mesh)];
  return parts;
}

std::string_view GateParallel::form() const {
  constexpr std::string_view stages[] = {"zero0", "zero1", "zero2", "zero3"};
  if (zero) return stages[zero->stage()];
  return fsdp ? "fsdp" : replicate ? "replicate" : "single_device";
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
  if (auto zero = table.table("zero")) {
    if (parallel.replicate || parallel.fsdp)
      table.reject_value("zero", "one of fsdp, replicate and zero", "two of them");
    parallel.zero = read_gate_zero(*zero, layout);
  }
  std::string checkpointing = table.word("activation_checkpointing", "none", {"none", "blocks"});
  table.refuse("tensor", "tensor parallelism");
  table.refuse("sequence", "sequence parallelism");
  table.refuse("context", "context parallelism");
  table.refuse("expert", "expert parallelism");
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
