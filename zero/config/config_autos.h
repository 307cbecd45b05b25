#pragma once

#include "core/check/json_value.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// resolve_autos replaces "auto" by a value in a configuration:
// - batch sizes, gradient_clipping, fp16.enabled and bf16.enabled, the params of the optimizer: the
//   value of that name in AutoValues. A batch size that follows from the others is left out, and
//   where one of fp16 and bf16 is enabled, the other isn't. Without a value neither is.
// - in zero_optimization, with hidden_size h: reduce_bucket_size is h^2,
//   stage3_prefetch_bucket_size 0.9 h^2 and stage3_param_persistence_threshold 10 h.
// - in the scheduler: warmup_min_lr is 0, warmup_max_lr the lr of AutoValues or else that of the
//   optimizer section; warmup_num_steps and total_num_steps are those of AutoValues.
// - everything else in zero_optimization, fp16 and bf16 is dropped, so that the default holds.
// Raises a ValueError that names the key where "auto" has no value.
void resolve_autos(JsonValue& config, const AutoValues& autos);

}  // namespace simmesh::zero
