#pragma once

#include <vector>

#include "verify/case_report.h"
#include "verify/pytorch/ops/function_steps.h"
#include "verify/pytorch/ops/op_run.h"

namespace simmesh {

// compare_steps compares the steps that PyTorch made with the ops that ran here. Both redistribute
// the same tensors, in any order: `S(0)` to `R` is the same as `S(1)` to `R`, since a function may
// be split otherwise. A step whose operator ran here on tensors of the same placements ran on the
// same ones and gave the same results.
void compare_steps(const std::vector<FunctionStep>& steps, const std::vector<SeenOp>& seen,
                   CaseReport& report);

}  // namespace simmesh
