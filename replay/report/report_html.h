#pragma once

#include <string>

#include "replay/report/job_report.h"

namespace simmesh::replay {

// to_html returns a report as one page that needs no other file: the checks, the timeline with
// waiting and moving in colours of their own, the data that ranks send each other in all-to-alls,
// memory over time, and the tables of to_text.
std::string to_html(const JobReport& report);

}  // namespace simmesh::replay
