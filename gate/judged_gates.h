#pragma once

#include <string>
#include <vector>

#include "core/findings/judged_checks.h"
#include "core/shards/report_block.h"
#include "gate/explore_gates.h"

namespace simmesh {

// judged_checks returns the checks of results for programs that read findings. The suite of a check
// is the gate's file, and the place of its finding is the key that asks for it, where the file
// still has that.
//
// Those of a gate that was run come from its block (gate_block), which shards keep too; of gates
// that were explored there is one for each.
std::vector<JudgedCheck> judged_checks(const ReportBlock& gate);
std::vector<JudgedCheck> judged_checks(const GateExploration& found, const std::string& reproduce);
std::vector<JudgedCheck> judged_checks(const GatesExploration& found);
std::vector<JudgedCheck> judged_checks(const FaultSwarm& found);

}  // namespace simmesh
