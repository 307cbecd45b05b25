#pragma once

#include "core/engine/reports/run_trace.h"
#include "core/page/timeline_section.h"

namespace simmesh {

// about_timeline returns the words and the unit for the timeline of a run: simulated time if ranks
// have devices, else steps of the schedule.
TimelineSection::About about_timeline(const RunRecords& run);

// add_spans adds the operations of a run to a timeline: those of the streams of simulated devices,
// else the engine's events. A collective lasts there from the arrival of a rank until the last
// member has arrived; one in which a member is missing lasts until the end.
void add_spans(const RunRecords& run, TimelineSection& timeline);

}  // namespace simmesh
