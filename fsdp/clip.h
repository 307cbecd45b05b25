#pragma once

#include <gsl/span>

#include "core/optim/clip.h"

namespace simmesh::fsdp {

// total_norm returns the p-norm of all gradients of parameters, of which some are cut over meshes:
// the same on all ranks, in the dtype of the first. Parameters over the same mesh are reduced
// together, by one all-reduce a mesh dim that cuts them. A shard without elements counts as 0. In
// exact arithmetic it has the bits of one device.
Tensor total_norm(gsl::span<const Tensor> parameters, double p = 2.0);

// clip_grad_norm_ multiplies all gradients by min(1, max_norm / (norm + eps)) and returns the norm
// before.
Tensor clip_grad_norm_(gsl::span<const Tensor> parameters, const optim::ClipOptions& options);

}  // namespace simmesh::fsdp
