#pragma once

#include <gsl/span>
#include <vector>

#include "collectives/process_group.h"
#include "core/check/call_site.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// OwnParameters are parameters that differ between the ranks of a group, such as the experts of
// expert parallelism. They may also be sharded or replicated over other meshes, whose ranks have
// the same ones, as experts under FSDP2 are. Plain parameters that aren't named so are the same on
// every rank.
struct OwnParameters {
  std::vector<Tensor> parameters;
  ProcessGroup group;
};

// total_norm returns the p-norm of the whole gradients of some parameters, which may be sharded
// over several meshes. Each element counts once: a replicated one, and one of a parameter that is
// named twice (tied ones). Partial gradients are reduced first, and an empty shard doesn't count.
// `own` lists the parameters that are a rank's own; they may but needn't be among the parameters.
//
// The result is the same on all ranks, in the dtype of the first gradient. Gradients with one
// sharding are reduced together, with one all-reduce for each mesh dim that shards them, and then
// those of each list of `own` with one all-reduce over its group. In exact arithmetic the norm has
// the bits of one device. Raises a ValueError for a p that isn't above 0.
Tensor total_norm(gsl::span<const Tensor> parameters, double p = 2.0,
                  gsl::span<const OwnParameters> own = {}, CallSite site = CallSite::here());

// ClipOptions are the norm to which gradients are clipped, and the parameters that are a rank's
// own.
struct ClipOptions {
  double max_norm = 1.0;
  double norm_type = 2.0;
  double eps = 1e-6;
  gsl::span<const OwnParameters> own = {};
};

// clip_grad_norm_ multiplies all gradients by min(1, max_norm / (norm + eps)) and returns their
// norm before that.
Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const ClipOptions& options,
                       CallSite site = CallSite::here());

// clip_grads_with_norm_ does so with a norm that is known, which may be that of more parameters.
void clip_grads_with_norm_(gsl::span<const Tensor> parameters, const Tensor& norm,
                           const ClipOptions& options);

}  // namespace simmesh
