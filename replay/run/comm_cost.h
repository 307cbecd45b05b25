#pragma once

#include "core/clock/topology.h"
#include "replay/run/meetings.h"

namespace simmesh::replay {

// CommAlgorithm is how a collective sends its bytes. Under `tree` an all-reduce goes up and down a
// double binary tree (Sanders, Speck, Traeff 2009: 2 ceil(log2 n) hops, and each byte twice over
// the link of a rank), a broadcast and a reduction one way, half of that; the others have no tree
// and don't change.
enum class CommAlgorithm : std::uint8_t { ring, tree };

// CommChoices are the assumptions about the cost of communications.
struct CommChoices {
  CommAlgorithm algorithm = CommAlgorithm::ring;
  // All-to-alls send as many bytes in all, cut evenly.
  bool even_splits = false;
};

// comm_us returns the time of a collective from when its last member is ready, by the formulas of
// Topology (a ring, or for all-to-all direct sends). The time of an uneven all-to-all is that of
// the rank that sends to others, or gets from them, the most. Between members of one host the link
// is the fast one.
double comm_us(const ReplayProgram& program, const Meeting& meeting, const Topology& topology,
               const CommChoices& choices = {});
double comm_us(const ReplayProgram& program, const MessageMeeting& message,
               const Topology& topology);

// moved_bytes returns the bytes that the slowest rank of a collective moves over its link: comm_us
// divides these by the bandwidth.
double moved_bytes(const ReplayProgram& program, const Meeting& meeting,
                   const CommChoices& choices = {});

}  // namespace simmesh::replay
