#pragma once

#include <vector>

#include "replay/analysis/intervals.h"

namespace simmesh::replay {

// RankBusy is how long the device of a rank communicated and computed. Lengths are those of unions:
// work that runs on several streams at once counts once.
struct RankBusy {
  double comm_us = 0;
  double compute_us = 0;  // copies and fills don't count
  double copy_us = 0;
  double exposed_us = 0;     // communication while nothing is computed
  double overlapped_us = 0;  // communication while something is
  double idle_us = 0;  // between the first and the last span of the device, without any of these
};
RankBusy busy_of(const RankTimeline& rank);

// DeviceMoments are the times at which the device of a rank computes, communicates and so on.
struct DeviceMoments {
  Intervals comm;
  Intervals compute;
  Intervals copy;
  Intervals any;
};
DeviceMoments device_moments(const RankTimeline& rank);

// busy_of for a stretch of time, such as a step.
RankBusy busy_of(const DeviceMoments& moments, const Interval& stretch);

// exposed_parts returns by place in RankTimeline::comms how long each of them runs while nothing is
// computed. The sum may exceed RankBusy::exposed_us, where communications overlap one another.
std::vector<double> exposed_parts(const RankTimeline& rank);

}  // namespace simmesh::replay
