#pragma once

#include <cstdint>
#include <vector>

#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// CommOverlap is what runs at the same time as one communication of a rank.
struct CommOverlap {
  double length_us = 0;
  double with_compute_us = 0;  // while the device computes
  double with_copies_us = 0;
  double with_comms_us = 0;               // while another communication runs
  std::vector<std::uint32_t> comms = {};  // these, as places in RankTimeline::comms
};

// comm_overlaps returns the overlap of each communication by place in RankTimeline::comms.
std::vector<CommOverlap> comm_overlaps(const RankTimeline& rank);

}  // namespace simmesh::replay
