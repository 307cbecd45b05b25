#pragma once

#include <optional>
#include <vector>

#include "core/clock/device_model.h"
#include "replay/run/comm_cost.h"
#include "replay/timeline/timeline.h"

namespace simmesh::replay {

// RankCosts are the times of a rank's actions, in microseconds of a device.
struct RankCosts {
  double begin_us = 0;  // when the rank begins, after the first one
  // By step: the time that the rank computes before it, besides the operators of its program; and
  // the time of the step itself: of an operator, or of a communication from when all of its ranks
  // are ready.
  std::vector<double> before_us;
  std::vector<double> us;
  double after_us = 0;  // the time that it computes after the last step
};

// JobCosts are the costs of all ranks, by rank.
using JobCosts = std::vector<RankCosts>;

// modelled_costs takes operators from the model's device (estimated bytes and operations), and
// communications from its topology.
JobCosts modelled_costs(const ReplayProgram& program, const JobMeetings& meetings,
                        const DeviceModel& model = {}, const CommChoices& choices = {});

// CommSpan is when a communication of a program ran, on a recorded timeline.
struct CommSpan {
  double begin_us = 0;
  double end_us = 0;

  double length_us() const { return end_us - begin_us; }
};

// CommSpans is when the communications of each rank ran, by rank and step; nullopt for other steps.
using CommSpans = std::vector<std::vector<std::optional<CommSpan>>>;

// comm_spans returns when the communications of a program ran on a timeline. The k-th communication
// of a rank's program is the k-th of its timeline. Raises a ValueError where their numbers differ,
// or a rank has no timeline. Barriers count where the timeline has them.
CommSpans comm_spans(const ReplayProgram& program, const JobTimeline& timeline);

// recorded_costs takes costs from a recorded timeline. A communication takes as long as the
// shortest of its spans on any rank, since the others have waited. The computation of a rank
// between two communications is the time from when the program could continue after the first (its
// end, or its begin where the program doesn't wait for it) to when the second begins, whatever the
// device did in it; operators cost nothing besides. A rank begins with the step of its first
// communication (or with its first span), and computes after the last one to the end of that one's
// step. Raises as comm_spans does.
JobCosts recorded_costs(const ReplayProgram& program, const JobMeetings& meetings,
                        const JobTimeline& timeline);

// effective_us returns the shortest of a collective's spans on any of its ranks; 0 without any.
double effective_us(const ReplayProgram& program, const Meeting& meeting, const CommSpans& spans);

}  // namespace simmesh::replay
