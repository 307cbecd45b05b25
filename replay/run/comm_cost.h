#pragma once

#include "core/clock/topology.h"
#include "replay/run/meetings.h"

namespace simmesh::replay {

// CommAlgorithm says how a collective sends its bytes. Under `tree` an all-reduce goes up and down
// a double binary tree (Sanders, Speck, Traeff 2009: 2 ceil(log2 n) hops, and each byte twice over
// the link of a rank), a broadcast and a reduction one way, half of that; the others have no tree
// and stay as they are.
enum class CommAlgorithm : std::uint8_t { ring, tree };

// CommChoices say how communications are priced.
struct CommChoices {
  CommAlgorithm algorithm = CommAlgorithm::ring;
  // All-to-alls send as many bytes in all, cut evenly.
  bool even_splits = false;
};

// comm_us returns the time of a collective from when its last member is ready, by the formulas of
// Topology (a ring, or for all-to-all direct sends). Of an uneven all-to-all the rank with the most
// to send to others, or to get from them, decides. Between members of one host the link is the fast
// one.
double comm_us(const ReplayProgram& program, const Meeting& meeting, const Topology& topology,
               const CommChoices& choices = {});
double comm_us(const ReplayProgram& program, const MessageMeeting& message,
               const Topology& topology);

// moved_bytes returns what the slowest rank of a collective moves over its link: the bytes that
// comm_us divides by the bandwidth.
double moved_bytes(const ReplayProgram& program, const Meeting& meeting,
                   const CommChoices& choices = {});

}  // namespace simmesh::replay
