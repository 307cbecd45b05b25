#pragma once

#include <string>

#include "replay/report/job_report.h"

namespace simmesh::replay {

// to_text returns a report as `simmesh replay` prints it: tables of the traces, of times and
// memory, the findings, a line for each check, and the last line "N passed, N failed".
std::string to_text(const JobReport& report);

// last_line returns "N passed, N failed".
std::string last_line(const JobReport& report);

}  // namespace simmesh::replay
