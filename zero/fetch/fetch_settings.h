#pragma once

#include <cstdint>

#include "zero/config/config.h"

namespace simmesh::zero {

// DeepSpeedFaults are decisions of DeepSpeed 0.19 that we think are wrong. Each can be switched on,
// to follow a recorded run; docs/zero.md says what is right instead.
struct DeepSpeedFaults {
  // The parameters that a module keeps when it is left are remembered for (module, step), even in
  // an iteration whose prefetches differed, and after another order was recorded.
  bool remembers_stale_releases = false;
  // The look-ahead at a release treats every module ahead as a leaf where the released one is a
  // leaf, and none as a leaf where it isn't.
  bool looks_ahead_as_released = false;
  // Elements that are available when an iteration begins, and those of external parameters, aren't
  // counted as available, so that max_live_parameters doesn't bound them.
  bool counts_fetched_only = false;
  // A module that came to need other parameters since the trace was completed raises a
  // RuntimeError, instead of starting another trace.
  bool breaks_on_changes = false;
  // Leaving a recomputed forward also ends the use of the module's parameters by its backward.
  bool ends_use_by_recomputation = false;

  // all returns every fault turned on. It takes the struct apart, so that it doesn't compile while
  // a fault is missing here.
  static DeepSpeedFaults all() {
    DeepSpeedFaults faults;
    auto& [stale, leaf, count, changes, recomputation] = faults;
    stale = leaf = count = changes = recomputation = true;
    return faults;
  }
};

// FetchSettings are the inputs of the coordinator's decisions. Sizes are in elements.
struct FetchSettings {
  std::int64_t prefetch_bucket_size = 50'000'000;
  std::int64_t max_live_parameters = 1'000'000'000;
  std::int64_t max_reuse_distance = 1'000'000'000;
  DeepSpeedFaults faults = {};
  // True if the bucket grows where it was too small; see Coordinator::reset.
  bool adapts_prefetch_bucket = false;

  // of returns the settings of a configuration. allgather_sequential prefetches one parameter at a
  // time, which is a bucket of 1, but not without an optimiser.
  static FetchSettings of(const ZeroOptimization& zero, bool has_optimizer) {
    bool is_single = zero.allgather_sequential && has_optimizer;
    return {.prefetch_bucket_size = is_single ? 1 : zero.prefetch_bucket_size,
            .max_live_parameters = zero.max_live_parameters,
            .max_reuse_distance = zero.max_reuse_distance,
            .adapts_prefetch_bucket = zero.adaptive_prefetch_bucket && !is_single};
  }
};

}  // namespace simmesh::zero
