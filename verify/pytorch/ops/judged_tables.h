#pragma once

#include <vector>

#include "core/findings/judged_checks.h"
#include "verify/pytorch/ops/rule_files.h"

namespace simmesh {

// judged_checks returns a check for each rule of a table that is refuted, and one for each table
// without any. The suite is the id of the table.
std::vector<JudgedCheck> judged_checks(const RuleFilesResult& result,
                                       const RuleFilesRequest& request);

}  // namespace simmesh
