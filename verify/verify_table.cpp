#include "verify/verify_table.h"

#include <algorithm>
#include <initializer_list>

#include "verify/fsdp/errors.h"
#include "verify/fsdp/events.h"
#include "verify/fsdp/layout.h"
#include "verify/fsdp/state_dict.h"
#include "verify/fsdp/train.h"
#include "verify/pytorch/collective.h"
#include "verify/pytorch/formula.h"
#include "verify/pytorch/grad.h"
#include "verify/pytorch/local_shape.h"
#include "verify/pytorch/mesh.h"
#include "verify/pytorch/plan.h"
#include "verify/pytorch/redistribute.h"
#include "verify/zero/zero_train.h"

namespace simmesh {

namespace {

using FieldNames = std::vector<std::string_view>;

// The fields of a case with a model under fully_shard, and its own.
FieldNames with_model(std::initializer_list<std::string_view> own) {
  FieldNames fields{"world", "mesh", "dtype", "model", "params", "wraps", "tied", "frozen", "tp"};
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

std::vector<KnownKind> mesh_kinds() {
  return {
      {"collective",
       verify_collective,
       {"mesh", "world", "op", "api", "reduce", "group_dim", "dim", "root", "splits", "shapes",
        "tensor", "before", "after", "error", "oracle"}},
      {"formula", verify_formula, {"tensor", "h", "bits", "hash"}},
      {"grad",
       verify_grad,
       {"mesh", "world", "tensor", "from", "leaf", "end", "to", "grad_given", "gradient", "before",
        "after", "grad_placements", "collectives", "error", "oracle"}},
      {"local_shape", verify_local_shape, {"mesh", "tensor", "placements", "local", "oracle"}},
      {"mesh", verify_mesh, {"mesh", "how", "world", "ops", "result", "error"}},
      {"plan",
       verify_plan,
       {"mesh", "devices_per_host", "tensor", "from", "to", "from_order", "to_order", "flattened",
        "planner", "steps", "cost", "step_costs"}},
      {"redistribute",
       verify_redistribute,
       {"mesh", "world", "tensor", "from", "to", "from_order", "to_order", "flattened", "api",
        "planner", "steps", "collectives", "before", "after", "error", "oracle"}},
  };
}

std::vector<KnownKind> fsdp_kinds() {
  return {
      {"fsdp_counts", verify_fsdp_counts,
       with_model({"program", "mode", "counts", "per_step", "ranks_agree"})},
      {"fsdp_errors", verify_fsdp_errors,
       with_model({"program", "device", "dtypes", "transposed", "spmd_params", "given_grads",
                   "grad_rule", "grad_seed", "raises"})},
      {"fsdp_events", verify_fsdp_events, with_model({"program", "totals", "ranks_agree"})},
      {"fsdp_layout", verify_fsdp_layout,
       with_model({"settings", "given_grads", "grad_rule", "grad_seed", "forward_input", "stages",
                   "groups", "state_after_forward", "state_after_backward", "grads", "collectives",
                   "wrong_after_forward"})},
      {"fsdp_state_dict", verify_fsdp_state_dict, with_model({"program", "device", "start"})},
  };
}

std::vector<KnownKind> training_kinds() {
  FieldNames train_fields =
      with_model({"steps", "microbatches", "sync", "input", "target", "step_seed",
                  "microbatch_seed", "loss", "optimizer", "losses", "grad_norms", "final",
                  "final_shape", "tolerance", "clip", "clip_raises_by_rank"});
  return {
      {"train", verify_train, train_fields},
      {"train_exact", verify_train, train_fields},
      {"zero_train",
       verify_zero_train,
       {"world", "stage", "dtype",     "layers",    "init",         "batch",      "accumulation",
        "steps", "loss",  "data_rule", "data_seed", "input_factor", "optimizer",  "groups",
        "clip",  "zero",  "compare",   "expect",    "fp16",         "poison_step"}},
  };
}

std::vector<KnownKind> all_kinds() {
  std::vector<KnownKind> all;
  for (auto& kinds : {mesh_kinds(), fsdp_kinds(), training_kinds()})
    all.insert(all.end(), kinds.begin(), kinds.end());
  std::sort(all.begin(), all.end(),
            [](const KnownKind& a, const KnownKind& b) { return a.kind < b.kind; });
  return all;
}

}  // namespace

gsl::span<const KnownKind> known_kinds() {
  static const std::vector<KnownKind> kinds = all_kinds();
  return kinds;
}

const KnownKind* find_kind(std::string_view kind) {
  for (const KnownKind& known : known_kinds())
    if (known.kind == kind) return &known;
  return nullptr;
}

}  // namespace simmesh
