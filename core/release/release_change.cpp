#include "core/release/release_change.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::string_view gradients = "Gradients of ops";
constexpr std::string_view fsdp2 = "FSDP2";

std::vector<ReleaseChangeRow> fsdp2_gradients() {
  using enum ReleaseChange;
  return {
      {reduce_in_original_dtype,
       "reduce_in_original_dtype",
       Release::v2_15,
       "changed",
       fsdp2,
       "without a `reduce_dtype` gradients are reduced, and added up over micro-batches, in the "
       "dtype in which backward gives them: `param_dtype`",
       "they are reduced in the `grad_dtype` of the parameters, by default their original dtype, "
       "whatever `param_dtype` is",
       {"fsdp/param_dtypes.cpp"}},
      {grad_dtype_of_parameters,
       "grad_dtype_of_parameters",
       Release::v2_15,
       "added",
       fsdp2,
       "`grad_dtype` of a sharded parameter is refused",
       "the shard's gradient has it, or any dtype, and keeps it over conversions and loads; a "
       "group reduces in what the dtypes of its parameters are promoted to",
       {"fsdp/param_dtypes.cpp"}},
      {accumulate_on_parameter,
       "accumulate_on_parameter",
       Release::v2_15,
       "changed",
       fsdp2,
       "gradients that aren't reduced yet are kept apart where `reduce_dtype` is another dtype: a "
       "sum is rounded to it once, and `zero_grad` doesn't see it",
       "they add up on the gathered parameter: each is rounded to a narrower `reduce_dtype` "
       "before it is added, and `zero_grad` drops them where that parameter is registered",
       {"fsdp/param_dtypes.cpp"}},
      {reduce_for_partial_sums_alone,
       "reduce_for_partial_sums_alone",
       Release::v2_15,
       "changed",
       fsdp2,
       "a group that got no gradient and doesn't all-reduce does nothing, also where partial sums "
       "of earlier micro-batches wait",
       "it reduces zeros over its shards",
       {"fsdp/param_group_iteration.cpp"}},
  };
}

std::vector<ReleaseChangeRow> fsdp2_iterations() {
  using enum ReleaseChange;
  return {
      {finalize_after_post_backward,
       "finalize_after_post_backward",
       Release::v2_15,
       "changed",
       fsdp2,
       "at the end of the last backward each module completes the backward of its groups and "
       "finalises them before the next module does",
       "all modules complete the backward of their groups, then all finalise them",
       {"fsdp/state_backward.cpp"}},
      {release_gather_after_backward,
       "release_gather_after_backward",
       Release::v2_15,
       "changed",
       fsdp2,
       "a gathered buffer that no later gather released, of a group of modules that ran in part, "
       "is held until the next one",
       "the end of each backward pass releases it",
       {"fsdp/state_backward.cpp"}},
      {manual_backward_finalization,
       "manual_backward_finalization",
       Release::v2_15,
       "added",
       fsdp2,
       "there is no `set_manual_backward_finalization` and no `finalize_backward`",
       "they leave the end of backward to the user, who may wait for it later",
       {"fsdp/fsdp_module.cpp"}},
      {reset_clears_gradients,
       "reset_clears_gradients",
       Release::v2_15,
       "changed",
       fsdp2,
       "`reset_iter_state` keeps the gradients of shards",
       "it drops them too",
       {"fsdp/param_group_iteration.cpp"}},
      {keep_unsharded_storage,
       "keep_unsharded_storage",
       Release::v2_15,
       "added",
       fsdp2,
       "there is no `set_keep_unsharded_storage`",
       "it keeps the memory of gathered parameters when shards are registered",
       {"fsdp/fsdp_module.cpp"}},
      {param_dtype_override,
       "param_dtype_override",
       Release::v2_15,
       "added",
       fsdp2,
       "`MixedPrecisionPolicy` has no `param_dtype_override_fn`",
       "it lets single parameters keep their original dtype",
       {"fsdp/fully_shard.cpp"}},
  };
}

std::vector<ReleaseChangeRow> op_gradients() {
  using enum ReleaseChange;
  return {
      {clamp_gradient_at_bounds,
       "clamp_gradient_at_bounds",
       Release::v2_15,
       "changed",
       gradients,
       "the gradient of `clamp`, `clamp_min` and `clamp_max` is 1 where an element equals a bound, "
       "and 0 for a NaN",
       "at a bound it is 0 if the bound is a number; a bound that is a tensor and the input get "
       "half "
       "of it each. For a NaN it is 0 between numbers, and 1 between tensors",
       {"core/gradients/elementwise/selection.cpp"}},
  };
}

// The order is that of the page.
const std::vector<ReleaseChangeRow>& table() {
  static const std::vector<ReleaseChangeRow> rows = [] {
    std::vector<ReleaseChangeRow> all;
    for (auto* part : {&op_gradients, &fsdp2_gradients, &fsdp2_iterations})
      for (ReleaseChangeRow& row : part()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

}  // namespace

gsl::span<const ReleaseChangeRow> release_changes() { return table(); }

const ReleaseChangeRow& row_of(ReleaseChange change) {
  auto row = std::find_if(table().begin(), table().end(),
                          [&](const ReleaseChangeRow& each) { return each.change == change; });
  SIMMESH_CHECK(row != table().end(), "change {} has no row", int(change));
  return *row;
}

bool has(Release release, ReleaseChange change) { return release >= row_of(change).since; }

}  // namespace simmesh
