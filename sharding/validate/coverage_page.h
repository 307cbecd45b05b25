#pragma once

#include <string>

#include "sharding/validate/validate.h"

namespace simmesh {

// coverage_page returns docs/operators.md: a table of all ops with how each runs on distributed
// tensors, the placements that its inputs may keep, whether its gradients were compared on pieces,
// and how many rules were judged. The result is that of all ops.
std::string coverage_page(const ValidateResult& result);

}  // namespace simmesh
