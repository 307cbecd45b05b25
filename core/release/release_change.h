#pragma once

#include <gsl/span>
#include <string_view>

#include "core/release/release.h"

namespace simmesh {

// ReleaseChange names one behaviour in which a release of PyTorch differs from the one before it.
// Code that behaves differently asks `follows(ReleaseChange::...)`
// (core/engine/run/followed_release.h), or `has(release, ReleaseChange::...)` where it is given the
// release. The table in release_change.cpp says what each name means.
enum class ReleaseChange : std::uint8_t {
  // Gradients of ops
  clamp_gradient_at_bounds,
  // Redistribution
  shard_to_partial_sum,
  explicit_context_sees_from_local,
  // Collectives
  all_reduce_gradients,
  negative_gather_dim,
  all_to_all_mismatch_class,
  // Meshes
  preserve_rank_order,
  mesh_abort,
  concatenate_refusal_text,
  // FSDP2
  reduce_in_original_dtype,
  grad_dtype_of_parameters,
  accumulate_on_parameter,
  reduce_for_partial_sums_alone,
  finalize_after_post_backward,
  release_gather_after_backward,
  manual_backward_finalization,
  reset_clears_gradients,
  keep_unsharded_storage,
  param_dtype_override,
};

// ReleaseChangeRow is a row of the table: all that is known about a change.
struct ReleaseChangeRow {
  ReleaseChange change;
  std::string_view name;  // the enumerator
  Release since;          // the first release that behaves in the new way
  std::string_view kind;  // "changed"; "added"; "fixed": the behaviour before was a fault
  std::string_view area;  // the heading under which the page lists it
  std::string_view before;
  std::string_view after;
};

// release_changes is the table, by area.
gsl::span<const ReleaseChangeRow> release_changes();
const ReleaseChangeRow& row_of(ReleaseChange change);

// has says whether a release behaves in the new way.
bool has(Release release, ReleaseChange change);

}  // namespace simmesh
