#pragma once

#include "core/check/json_value.h"
#include "replay/report/job_report.h"

namespace simmesh::replay {

// timeline_part returns the section of a page that draws the timeline of a job: for each rank its
// communication, in which waiting is a span of its own, and the stretches in which its device
// computes or copies.
JsonValue timeline_part(const ReportedTimes& times);

}  // namespace simmesh::replay
