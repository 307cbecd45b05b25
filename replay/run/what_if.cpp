#include "replay/run/what_if.h"

#include <algorithm>
#include <limits>

#include "core/check/error.h"
#include "replay/run/simulate.h"

namespace simmesh::replay {

namespace {

// Returns when each rank comes to its communications, by rank and step.
std::vector<std::vector<double>> arrivals_of(const ReplayProgram& program,
                                             const SimulatedJob& job) {
  std::vector<std::vector<double>> arrivals;
  CommSpans spans = comm_spans(program, job.timeline);
  for (const auto& rank : spans) {
    arrivals.emplace_back();
    for (const auto& span : rank) arrivals.back().push_back(span ? span->begin_us : 0);
  }
  return arrivals;
}

SimulatedJob simulated(const ReplayProgram& program, const JobMeetings& meetings,
                       const JobCosts& costs) {
  SimulatedJob job = simulate(program, meetings, costs);
  if (!job.is_complete())
    raise(ErrorKind::value_error, "replay/what_if",
          "expected a job whose communications all end, got one that hangs");
  return job;
}

void rescale_communication(const ReplayProgram& program, const JobMeetings& meetings,
                           const Topology& topology, const WhatIf& change, JobCosts& costs) {
  const Topology& after = change.topology ? *change.topology : topology;
  auto scale = [&](std::size_t rank, std::uint32_t step, double before_us, double after_us) {
    double& us = costs[rank].us[step];
    us = before_us > 0 ? us * (after_us / before_us) : after_us;
  };
  for (const Meeting& meeting : meetings.collectives) {
    double before_us = comm_us(program, meeting, topology);
    double after_us = comm_us(program, meeting, after, change.choices);
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      if (meeting.steps[member])
        scale(std::size_t(members_of(program, meeting)[member]), *meeting.steps[member], before_us,
              after_us);
  }
  for (const MessageMeeting& message : meetings.messages)
    for (const MessageStep& side : {message.sender, message.receiver})
      scale(side.rank, side.step, comm_us(program, message, topology),
            comm_us(program, message, after));
}

void rescale_computation(const ReplayProgram& program, double factor, JobCosts& costs) {
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    costs[rank].after_us *= factor;
    for (std::uint32_t step = 0; step < costs[rank].us.size(); ++step) {
      costs[rank].before_us[step] *= factor;
      if (program.ranks[rank].steps[step].kind == ProgramStep::Kind::compute)
        costs[rank].us[step] *= factor;
    }
  }
}

bool blocks(const ProgramStep& step) {
  return step.kind == ProgramStep::Kind::wait ||
         (step.kind == ProgramStep::Kind::communicate && !step.is_asynchronous);
}

// Takes time from a rank's computation before a step, from the last part of it back to the last
// wait; first of all from the time before the rank begins, if it has waited for nothing yet.
void shorten_before(const RankProgram& rank, std::uint32_t step, double late_us, RankCosts& costs) {
  auto take = [&](double& us) {
    double taken_us = std::min(late_us, us);
    us -= taken_us;
    late_us -= taken_us;
  };
  std::uint32_t first = step;
  while (first > 0 && !blocks(rank.steps[first - 1])) --first;
  if (first == 0) take(costs.begin_us);
  take(costs.before_us[step]);
  for (std::uint32_t at = step; at-- > first;) {
    if (rank.steps[at].kind == ProgramStep::Kind::compute) take(costs.us[at]);
    take(costs.before_us[at]);
  }
}

// Collectives are handled in the order in which their last member came, so that the ranks' work
// before one is final when its turn comes.
void make_arrivals_perfect(const ReplayProgram& program, const JobMeetings& meetings,
                           JobCosts& costs) {
  SimulatedJob job = simulated(program, meetings, costs);
  auto arrivals = arrivals_of(program, job);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < meetings.collectives.size(); ++i) {
    const Meeting& meeting = meetings.collectives[i];
    double last_us = 0;
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      last_us = std::max(
          last_us,
          arrivals[std::size_t(members_of(program, meeting)[member])][*meeting.steps[member]]);
    order.push_back({last_us, i});
  }
  std::sort(order.begin(), order.end());
  for (const auto& [last_us, index] : order) {
    const Meeting& meeting = meetings.collectives[index];
    double first_us = std::numeric_limits<double>::infinity();
    auto arrival_us = [&](std::size_t member) {
      return arrivals[std::size_t(members_of(program, meeting)[member])][*meeting.steps[member]];
    };
    for (std::size_t member = 0; member < meeting.steps.size(); ++member)
      first_us = std::min(first_us, arrival_us(member));
    bool is_changed = false;
    for (std::size_t member = 0; member < meeting.steps.size(); ++member) {
      double late_us = arrival_us(member) - first_us;
      if (late_us <= 0) continue;
      auto rank = std::size_t(members_of(program, meeting)[member]);
      shorten_before(program.ranks[rank], *meeting.steps[member], late_us, costs[rank]);
      is_changed = true;
    }
    if (is_changed) arrivals = arrivals_of(program, simulated(program, meetings, costs));
  }
}

WhatIfTimes::Times longest(const std::vector<WhatIfTimes::RankTimes>& ranks, bool is_after) {
  WhatIfTimes::Times most;
  for (const WhatIfTimes::RankTimes& rank : ranks) {
    const WhatIfTimes::Times& times = is_after ? rank.after : rank.before;
    most.step_us = std::max(most.step_us, times.step_us);
    most.exposed_us = std::max(most.exposed_us, times.exposed_us);
  }
  return most;
}

}  // namespace

WhatIfTimes what_if(const ReplayProgram& program, const JobMeetings& meetings,
                    const JobCosts& costs, const Topology& topology, const WhatIf& change) {
  if (change.computation_factor < 0)
    raise(ErrorKind::value_error, "replay/what_if",
          "expected a computation_factor of at least 0, got {}", change.computation_factor);
  WhatIfTimes times;
  times.costs = costs;
  SimulatedJob before = simulated(program, meetings, costs);
  rescale_communication(program, meetings, topology, change, times.costs);
  rescale_computation(program, change.computation_factor, times.costs);
  if (change.perfect_arrival) make_arrivals_perfect(program, meetings, times.costs);
  SimulatedJob after = simulated(program, meetings, times.costs);
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    auto times_of = [&](const SimulatedJob& job) {
      return WhatIfTimes::Times{job.step_us(rank), job.reports[rank].exposed_communication_us};
    };
    times.ranks.push_back({times_of(before), times_of(after)});
  }
  times.before = longest(times.ranks, false);
  times.after = longest(times.ranks, true);
  return times;
}

}  // namespace simmesh::replay
