#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <optional>
#include <vector>

namespace simmesh::replay {

// CommMark is what tells whether communications of two ranks are parts of one collective.
struct CommMark {
  std::uint32_t label = 0;  // equal for the same name and bytes
  // True if no rank can leave before all have come, so that the times of all parts overlap.
  bool leaves_together = false;
  double begin_us = 0;
  double end_us = 0;
};

// overlaps is true if some moment belongs to both; moments at which one ends and the other begins
// don't count, unless one of them has no length.
bool overlaps(const CommMark& a, const CommMark& b);

// align_comms returns, for each mark of `second`, the place of its counterpart in `first`; nullopt
// where it has none. Counterparts have one label, and their order is that of both lists. Where the
// labels of both lists agree in order, and no times contradict, they are paired by order. Else they
// are paired by the times that overlap, and by labels between such pairs; by labels alone where
// clocks differ so much that no times overlap. Lists that differ in more than differences_max
// places are paired up to there by labels.
std::vector<std::optional<std::uint32_t>> align_comms(gsl::span<const CommMark> first,
                                                      gsl::span<const CommMark> second);

inline constexpr std::int64_t differences_max = 2000;

}  // namespace simmesh::replay
