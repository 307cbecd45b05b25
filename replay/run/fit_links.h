#pragma once

#include <string>
#include <vector>

#include "core/clock/topology.h"
#include "replay/run/job_costs.h"

namespace simmesh::replay {

// FittedCollective is one collective of a recorded timeline with its time by the fitted links.
struct FittedCollective {
  std::size_t meeting = 0;  // in JobMeetings::collectives
  std::string name;
  std::size_t members = 0;
  double moved_bytes = 0;  // by the rank that moves most
  double recorded_us = 0;  // the shortest span on any rank
  double predicted_us = 0;
  bool is_fitted = false;  // its time was fitted; otherwise it was predicted
};

// FittedLinks is a model of a job's links with two figures, found in its recorded timeline: a
// collective takes latency_us + moved_bytes / bandwidth.
struct FittedLinks {
  double latency_us = 0;
  double bandwidth_gb_s = 0;  // GB = 2^30 bytes; 0: bytes take no visible time
  // The same as a table of costs: one host, and no time for a hop.
  Topology topology;
  std::vector<FittedCollective> collectives;  // in the order of their first begin
  double fitted_error_us = 0;                 // mean of the absolute errors of each half
  double predicted_error_us = 0;
};

// fit_links fits both figures by least squares to every other collective of a job with more than
// one member, the first, the third and so on, and predicts the others. Neither figure is negative:
// where the best line has a negative one, it is the best line without that one. Raises a ValueError
// where fewer than two collectives could be fitted, and as comm_spans does.
FittedLinks fit_links(const ReplayProgram& program, const JobMeetings& meetings,
                      const JobTimeline& timeline);

// to_string prints a line for each collective, with its error, and one for the fit.
std::string to_string(const FittedLinks& links);

}  // namespace simmesh::replay
