#include "core/release/release_change.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr std::string_view gradients = "Gradients of ops";
constexpr std::string_view redistribution = "Redistribution";

// The order is that of the page.
const std::vector<ReleaseChangeRow>& table() {
  using enum ReleaseChange;
  static const std::vector<ReleaseChangeRow> rows = {
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
      {shard_to_partial_sum,
       "shard_to_partial_sum",
       Release::v2_15,
       "added",
       redistribution,
       "no step leads from a shard to a pending placement, and `redistribute` refuses every "
       "pending "
       "target that the source doesn't have",
       "`S(d)` becomes `P(sum)` without communication: each rank adds its shard to zeros. "
       "`redistribute` takes this target, and the graph planner goes there from `S(d)` at no cost; "
       "`redistribute_cost_us` stays infinite",
       {"sharding/planner.cpp", "sharding/redistribute_refusals.cpp"}},
  };
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
