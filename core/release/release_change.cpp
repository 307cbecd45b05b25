#include "core/release/release_change.h"

#include <algorithm>
#include <vector>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::string_view gradients = "Gradients of ops";
constexpr std::string_view redistribution = "Redistribution";
constexpr std::string_view collectives = "Collectives";
constexpr std::string_view meshes = "Meshes";
constexpr std::string_view fsdp2 = "FSDP2";

using enum ReleaseChange;

// In the order of the page.
const std::vector<ReleaseChangeRow> table = {
    {clamp_gradient_at_bounds, "clamp_gradient_at_bounds", Release::v2_15, "changed", gradients,
     "the gradient of `clamp`, `clamp_min` and `clamp_max` is 1 where an element equals a bound, "
     "and 0 for a NaN",
     "at a bound it is 0 if the bound is a number; a bound that is a tensor and the input get "
     "half of it each. For a NaN it is 0 between numbers, and 1 between tensors"},
    {shard_to_partial_sum, "shard_to_partial_sum", Release::v2_15, "added", redistribution,
     "no step leads from a shard to a partial placement, and `redistribute` refuses every "
     "partial target that the source doesn't have",
     "`S(d)` becomes `P(sum)` without communication: each rank adds its shard to zeros. "
     "`redistribute` takes this target, and the graph planner goes there from `S(d)` at no cost; "
     "`redistribute_cost_us` stays infinite"},
    {explicit_context_sees_from_local, "explicit_context_sees_from_local", Release::v2_15,
     "changed", redistribution,
     "`ExplicitRedistributionContext` doesn't see what the backward pass of `from_local` "
     "redistributes",
     "it refuses it"},
    {all_reduce_gradients, "all_reduce_gradients", Release::v2_15, "added", collectives,
     "the functional `all_reduce` has a gradient for `sum` only",
     "also for `avg` and `premul_sum`, by the same reduction; for `min` and `max` the members "
     "that hold the extremum share the sum of the gradients"},
    {negative_gather_dim, "negative_gather_dim", Release::v2_15, "fixed", collectives,
     "`all_gather_tensor` of a tensor whose first dim has size 1 refuses its last and its first "
     "dim where they are counted from the end",
     "a `gather_dim` may be counted from the end"},
    {all_to_all_mismatch_class, "all_to_all_mismatch_class", Release::v2_15, "changed", collectives,
     "where a piece of `all_to_all_single` isn't as large as its slot, the error is a "
     "RuntimeError",
     "it is a ValueError"},
    {preserve_rank_order, "preserve_rank_order", Release::v2_15, "added", meshes,
     "the constructor has no such option: a TypeError",
     "meshes cut out of the mesh inherit it, and meshes that differ in it are unequal. Groups "
     "are "
     "in the order of the mesh with it and without"},
    {mesh_abort, "mesh_abort", Release::v2_15, "added", meshes,
     "a mesh has no `abort`: an AttributeError",
     "`abort` takes a rank out of the groups of a root mesh"},
    {concatenate_refusal_text, "concatenate_refusal_text", Release::v2_15, "changed", meshes,
     "`concatenate` names \"different device meshs\"", "it names \"different device meshes\""},
    {reduce_in_original_dtype, "reduce_in_original_dtype", Release::v2_15, "changed", fsdp2,
     "without a `reduce_dtype` gradients are reduced, and added up over micro-batches, in the "
     "dtype in which backward gives them: `param_dtype`",
     "they are reduced in the `grad_dtype` of the parameters, by default their original dtype, "
     "whatever `param_dtype` is"},
    {grad_dtype_of_parameters, "grad_dtype_of_parameters", Release::v2_15, "added", fsdp2,
     "`grad_dtype` of a sharded parameter is refused",
     "the shard's gradient has it, or any dtype, and keeps it over conversions and loads; a "
     "group reduces in what the dtypes of its parameters are promoted to"},
    {accumulate_on_parameter, "accumulate_on_parameter", Release::v2_15, "changed", fsdp2,
     "gradients that aren't reduced yet are kept apart where `reduce_dtype` is another dtype: a "
     "sum is rounded to it once, and `zero_grad` doesn't see it",
     "they add up on the gathered parameter: each is rounded to a narrower `reduce_dtype` "
     "before it is added, and `zero_grad` drops them where that parameter is registered"},
    {reduce_for_partial_sums_alone, "reduce_for_partial_sums_alone", Release::v2_15, "changed",
     fsdp2,
     "a group that got no gradient and doesn't all-reduce does nothing, also where partial sums "
     "of earlier micro-batches wait",
     "it reduces zeros over its shards"},
    {finalize_after_post_backward, "finalize_after_post_backward", Release::v2_15, "changed", fsdp2,
     "at the end of the last backward each module completes the backward of its groups and "
     "finalises them before the next module does",
     "all modules complete the backward of their groups, then all finalise them"},
    {release_gather_after_backward, "release_gather_after_backward", Release::v2_15, "changed",
     fsdp2,
     "a gathered buffer that no later gather released, of a group of modules that ran in part, "
     "is held until the next one",
     "the end of each backward pass releases it"},
    {manual_backward_finalization, "manual_backward_finalization", Release::v2_15, "added", fsdp2,
     "there is no `set_manual_backward_finalization` and no `finalize_backward`",
     "they leave the end of backward to the user, who may wait for it later"},
    {reset_clears_gradients, "reset_clears_gradients", Release::v2_15, "changed", fsdp2,
     "`reset_iter_state` keeps the gradients of shards", "it drops them too"},
    {keep_unsharded_storage, "keep_unsharded_storage", Release::v2_15, "added", fsdp2,
     "there is no `set_keep_unsharded_storage`",
     "it keeps the memory of gathered parameters when shards are registered"},
    {param_dtype_override, "param_dtype_override", Release::v2_15, "added", fsdp2,
     "`MixedPrecisionPolicy` has no `param_dtype_override_fn`",
     "it lets single parameters keep their original dtype"},
};

}  // namespace

gsl::span<const ReleaseChangeRow> release_changes() { return table; }

const ReleaseChangeRow& row_of(ReleaseChange change) {
  auto row = std::find_if(table.begin(), table.end(),
                          [&](const ReleaseChangeRow& each) { return each.change == change; });
  SIMMESH_CHECK(row != table.end(), "change {} has no row", int(change));
  return *row;
}

bool has(Release release, ReleaseChange change) { return release >= row_of(change).since; }

}  // namespace simmesh
