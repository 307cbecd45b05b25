#pragma once

#include <string_view>
#include <vector>

#include "replay/analysis/check_timelines.h"
#include "replay/report/job_report.h"

namespace simmesh::replay {

// finding_checks returns a check for each theme of validate: readability, nodes, tensors, single
// communications, ranks against each other, messages. One fails where it has an error.
std::vector<JobCheck> finding_checks(const JobReport& report);

// timeline_checks returns a check for the files of recorded timelines, and one for each condition
// for which something was compared.
std::vector<JobCheck> timeline_checks(const JobTimeline& timeline, const TimelineChecks& checks);

// theme_of returns the theme of a rule: "nodes" for rules of no other theme.
std::string_view theme_of(std::string_view rule);

}  // namespace simmesh::replay
