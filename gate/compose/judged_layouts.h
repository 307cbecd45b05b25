#pragma once

#include <vector>

#include "core/findings/judged_checks.h"
#include "gate/compose/composition.h"

namespace simmesh {

// judged_checks returns a check for each layout that was trained, in the suite of the model's file.
std::vector<JudgedCheck> judged_checks(const Composition& found);

}  // namespace simmesh
