#pragma once

#include "core/tensor/chunk.h"
#include "training/training.h"

namespace simmesh {

// rows_of returns the rows of a micro-batch that a rank takes under its form.
Chunk rows_of(std::int64_t rows, const ParallelForm& form);

// part_of returns the rank's part of an input or target of a whole micro-batch: its rows, and of
// these the positions that the form gives it. The part is a copy, so that the rank is charged for
// its own part only.
Tensor part_of(const Tensor& batch, const ParallelForm& form);

}  // namespace simmesh
