#pragma once

#include <gsl/span>
#include <vector>

#include "collectives/process_group.h"
#include "core/check/call_site.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// OwnParameters are parameters of which each rank of a group has others, such as the experts of
// expert parallelism. They may be cut or replicated over meshes besides, whose ranks have the same
// ones, as experts under FSDP2 are. Plain parameters that aren't named so are the same on every
// rank.
struct OwnParameters {
  std::vector<Tensor> parameters;
  ProcessGroup group;
};

// total_norm returns the p-norm of all gradients of some parameters, which may be cut over several
// meshes: that of the whole gradients, each element once. What is replicated counts once, partial
// gradients are added up first, a parameter that is named twice (tied ones) counts once, and a
// shard without elements counts nothing. `own` lists which ones are a rank's own; they may but
// needn't be among the parameters.
//
// The result is the same on all ranks, in the dtype of the first gradient. Gradients that lie in
// the same way are reduced together, with one all-reduce for each mesh dim that cuts them, and then
// those of each list of `own` with one all-reduce over its group. In exact arithmetic the norm has
// the bits of one device. Raises a ValueError for a p that isn't above 0.
Tensor total_norm(gsl::span<const Tensor> parameters, double p = 2.0,
                  gsl::span<const OwnParameters> own = {}, CallSite site = CallSite::here());

// ClipOptions say to which norm gradients are clipped, and which parameters are a rank's own.
struct ClipOptions {
  double max_norm = 1.0;
  double norm_type = 2.0;
  double eps = 1e-6;
  gsl::span<const OwnParameters> own = {};
};

// clip_grad_norm_ multiplies all gradients by min(1, max_norm / (norm + eps)) and returns the norm
// before.
Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const ClipOptions& options,
                       CallSite site = CallSite::here());

}  // namespace simmesh
