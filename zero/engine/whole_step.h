#pragma once

#include <cstdint>
#include <gsl/span>

#include "collectives/process_group.h"
#include "core/optim/optimizer.h"

namespace simmesh::zero {

// WholePiece is a rank's piece of a parameter.
struct WholePiece {
  Shape shape;  // of the whole parameter
  DType dtype = DType::float32;
  Tensor master = {};      // flat; undefined on a rank without a piece
  std::int64_t first = 0;  // its first element, in row-major order
};

// step_whole makes an optimiser's step of a parameter that it needs whole: one all-gather brings
// the pieces of master, gradient and state together, every rank that has a piece makes the same
// step, and keeps its piece of the result. The pieces are in the order of the ranks. State that
// isn't like the parameter, such as a sum of each row, is whole on every rank that has a piece. The
// gradient is dropped. All members of the group call it, for the same parameter.
void step_whole(optim::Optimizer& optimizer, const WholePiece& piece, const ProcessGroup& group);

// uncut_state returns a tensor of a parameter's state that is whole on every rank that has it,
// given those of all ranks; undefined where all are pieces, which are flat.
Tensor uncut_state(gsl::span<const Tensor> of_ranks);

}  // namespace simmesh::zero
