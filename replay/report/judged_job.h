#pragma once

#include <vector>

#include "core/findings/judged_checks.h"
#include "replay/report/job_report.h"

namespace simmesh::replay {

// judged_checks returns the checks of a job, and each error and warning in its traces as a check
// that failed.
std::vector<JudgedCheck> judged_checks(const JobReport& report);

}  // namespace simmesh::replay
