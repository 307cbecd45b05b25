#pragma once

#include <string>

#include "replay/report/job_report.h"

namespace simmesh::replay {

// heat_map_svg draws the data that ranks send each other as one SVG element: a row a sender, a
// column a receiver, darker where more bytes go. In large groups neighbours share a cell: at most
// 64 a side.
std::string heat_map_svg(const AllToAllMatrix& matrix);

}  // namespace simmesh::replay
