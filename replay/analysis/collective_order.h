#pragma once

#include <cstdint>
#include <vector>

#include "replay/analysis/job_collectives.h"

namespace simmesh::replay {

// OvertakenComm is a communication of a rank that ended after one that the rank's program issued
// later: places in RankTimeline::comms.
struct OvertakenComm {
  std::uint32_t comm = 0;
  std::uint32_t overtaken_by = 0;  // if there are several, the first that ended

  bool operator==(const OvertakenComm&) const = default;
};

// overtaken_comms returns them in the order of issue. Where a communication's time of issue is
// unknown, its begin counts.
std::vector<OvertakenComm> overtaken_comms(const RankTimeline& rank);

// ReorderedCollective is a collective that ranks reach in different orders: one rank begins it
// before another collective, and on other ranks a chain of begins leads from that one back to it.
// On one communicator that is a deadlock; between groups it may become one.
struct ReorderedCollective {
  std::uint32_t collective = 0;  // in the list of the job's collectives
  std::uint32_t next = 0;        // that follows it
  std::uint32_t rank = 0;        // on this rank: a place in JobTimeline::ranks

  bool operator==(const ReorderedCollective&) const = default;
};

// reordered_collectives returns, for each collective on such a cycle or on a path from one to
// another, one step of it; empty where all ranks agree on one order. Time and memory: linear in the
// communications.
std::vector<ReorderedCollective> reordered_collectives(
    const JobTimeline& job, const std::vector<JobCollective>& collectives);

}  // namespace simmesh::replay
