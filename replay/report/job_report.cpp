#include "replay/report/job_report.h"

#include <algorithm>

namespace simmesh::replay {

std::size_t JobReport::passed() const {
  return std::size_t(std::count_if(checks.begin(), checks.end(),
                                   [](const JobCheck& check) { return check.has_passed; }));
}

}  // namespace simmesh::replay
