#include "sharding/optim/distributed_muon.h"

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/interpolation.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

void DistributedMuon::step_distributed(std::size_t index, const Tensor& gradient) {
  NoGrad mode;
  const optim::TorchMuonOptions& options = options_of(index);
  require_step(index, gradient);
  ++state_of(index).steps;
  DTensor parameter = DTensor::of(parameters()[index].detach());
  const Placements& placements = parameter.placements();
  RedistributeOptions place{.order = parameter.spec().sharding.order};
  DTensor own = DTensor::of(gradient.detach());
  if (own.placements() != placements) own = own.redistribute(placements, place);
  // A momentum is a sum of elements: no rank needs another's.
  Tensor& buffer = state_tensor(index, "momentum_buffer");
  copy_(buffer, lerp(buffer, own.local(), 1.0 - options.momentum));
  Tensor ahead = options.nesterov ? lerp(own.local(), buffer, options.momentum) : buffer;
  DTensor direction = DTensor::of(optim::orthogonalized_by_quintic(
      parameter.with_local(ahead.clone()).as_tensor(), options.iteration));
  if (direction.placements() != placements) direction = direction.redistribute(placements, place);
  Tensor piece = parameters()[index].local_part();
  move_along(index, piece, to(direction.local(), piece.dtype()), parameter.shape());
  piece.storage()->count_change();
}

}  // namespace simmesh
