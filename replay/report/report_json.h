#pragma once

#include <string>

#include "replay/report/job_report.h"

namespace simmesh::replay {

// to_json returns a report as one line of JSON, with all rows of each table.
std::string to_json(const JobReport& report);

}  // namespace simmesh::replay
