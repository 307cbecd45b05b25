#pragma once

#include <gsl/span>

#include "core/check/call_site.h"
#include "core/optim/clip.h"

namespace simmesh::fsdp {

// total_norm returns the p-norm of all gradients of some parameters, which may be cut over meshes.
// The result is the same on all ranks, in the dtype of the first gradient. Parameters on the same
// mesh are reduced together, with one all-reduce for each mesh dim that cuts them. A shard without
// elements counts as 0. In exact arithmetic the norm has the bits of one device.
Tensor total_norm(gsl::span<const Tensor> parameters, double p = 2.0,
                  CallSite site = CallSite::here());

// clip_grad_norm_ multiplies all gradients by min(1, max_norm / (norm + eps)) and returns the norm
// before.
Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const optim::ClipOptions& options,
                       CallSite site = CallSite::here());

}  // namespace simmesh::fsdp
