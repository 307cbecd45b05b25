#pragma once

#include <string>

#include "replay/report/job_report.h"

namespace simmesh::replay {

// timeline_svg draws a job's timeline as one SVG element. Each rank has two lanes: its
// communications, in which the part that waits for other ranks and the part that moves bytes have a
// colour each, and below them what its device computes and copies. The first 64 ranks are drawn. A
// span narrower than a quarter of a pixel is drawn together with its neighbours.
std::string timeline_svg(const ReportedTimes& times);

}  // namespace simmesh::replay
