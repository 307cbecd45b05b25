#pragma once

#include <string>

#include "core/page/report_page.h"
#include "replay/report/job_report.h"

namespace simmesh::replay {

// job_page returns a report as the content of a page: the checks, the timeline, the data that ranks
// send each other in all-to-alls, memory over time, and the tables of to_text. command is the line
// that makes it again.
PageReport job_page(const JobReport& report, const std::string& command = {});

// to_html returns that page.
std::string to_html(const JobReport& report);

}  // namespace simmesh::replay
