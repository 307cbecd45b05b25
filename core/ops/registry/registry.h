#pragma once

#include <string_view>

#include "core/ops/op.h"

namespace simmesh {

// all_ops returns every op of the library, family by family. A family is a file below core/ops that
// defines ops.
gsl::span<const Op* const> all_ops();

// find_op returns the op of a name, null where there is none.
const Op* find_op(std::string_view name);

}  // namespace simmesh
