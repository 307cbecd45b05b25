#pragma once

#include <vector>

#include "core/check/json_value.h"
#include "replay/report/job_report.h"

namespace simmesh::replay {

// all_to_alls_part returns the section of a page that shows the bytes that ranks send each other,
// a matrix for each of the first all-to-alls. Ranks of a large group share rows and columns.
JsonValue all_to_alls_part(const std::vector<AllToAllMatrix>& matrices);

// memory_part returns the section with the memory of the ranks with the highest peaks, over their
// operators; null if no trace has memory.
JsonValue memory_part(const std::vector<ReportedTrace>& traces);

}  // namespace simmesh::replay
