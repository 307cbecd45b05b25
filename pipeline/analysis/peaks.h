#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// Peaks are the numbers of forwards whose activations are held at once: from F to B or W.
struct Peaks {
  std::vector<std::int64_t> by_stage;
  std::vector<std::int64_t> by_rank;
};

// activation_peaks reads them off the rows, for the stages 0 to `stages` - 1. The parts of a
// compound action count one after the other.
Peaks activation_peaks(const Rows& rows, std::int64_t stages);

}  // namespace simmesh::pipeline
