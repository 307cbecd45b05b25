#pragma once

#include <vector>

#include "replay/report/job_report.h"
#include "replay/run/meetings.h"

namespace simmesh::replay {

// all_to_all_matrices returns the elements that ranks send each other in the all-to-alls of a
// program that all members take part in, in the order of the program.
std::vector<AllToAllMatrix> all_to_all_matrices(const ReplayProgram& program,
                                                const JobMeetings& meetings);

}  // namespace simmesh::replay
