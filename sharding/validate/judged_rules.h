#pragma once

#include <vector>

#include "core/findings/judged_checks.h"
#include "core/shards/report_block.h"

namespace simmesh {

// judged_rules returns the rules of an op as checks, in the suite of the op, from its block
// (op_block). A rule that is missing is no finding.
std::vector<JudgedCheck> judged_rules(const ReportBlock& op);

}  // namespace simmesh
