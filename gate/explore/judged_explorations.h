#pragma once

#include <string>
#include <vector>

#include "core/findings/judged_checks.h"
#include "gate/explore/explore_gates.h"

namespace simmesh {

// judged_checks returns the check of each gate that was explored, for programs that read findings:
// it is named "schedules", and its suite is the gate's file.
std::vector<JudgedCheck> judged_checks(const GateExploration& found, const std::string& reproduce);
std::vector<JudgedCheck> judged_checks(const GatesExploration& found);
std::vector<JudgedCheck> judged_checks(const FaultSwarm& found);

}  // namespace simmesh
