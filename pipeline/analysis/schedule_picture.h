#pragma once

#include <string>
#include <string_view>

#include "pipeline/analysis/spacing.h"

namespace simmesh::pipeline {

// schedule_svg draws a schedule in time as one self-contained SVG element, the same bytes every
// time: a row for each rank, a box for each action with its micro-batch, as wide as it takes time
// units. The colour says what is computed, and stages after a rank's first are darker. The parts of
// a compound action share a frame. Gaps are idle time. Below are the time units.
std::string schedule_svg(const SpacedSchedule& spaced, std::string_view title);

}  // namespace simmesh::pipeline
