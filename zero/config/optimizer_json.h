#pragma once

#include <optional>

#include "core/check/json_value.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// read_optimizer reads the section optimizer; without a type there is no optimiser. The names of
// DeepSpeed's own optimisers are known in letters of any case, those of torch.optim as they are.
// Raises AssertionErrors for unknown names, TypeErrors for params that the class doesn't have, and
// ValueErrors for those that simmesh doesn't have. offloads is true where the optimiser is
// offloaded, for which DeepSpeed takes another class.
std::optional<OptimizerConfig> read_optimizer(const JsonValue& section, bool offloads);

// written_optimizer returns a section that reads as the same, with the params of the type.
JsonValue written_optimizer(const OptimizerConfig& optimizer);

}  // namespace simmesh::zero
