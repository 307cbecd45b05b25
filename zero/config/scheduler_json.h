#pragma once

#include <optional>

#include "core/check/json_value.h"
#include "zero/config/scheduler_config.h"

namespace simmesh::zero {

// read_scheduler reads the section scheduler; empty for one without a type. Raises a ValueError
// that names the key for a type that isn't one of the five, for missing params, for a key that the
// type doesn't have, and for a missing one that it needs.
std::optional<SchedulerConfig> read_scheduler(const JsonValue& section);

// written_scheduler returns a section that reads as the same.
JsonValue written_scheduler(const SchedulerConfig& scheduler);

}  // namespace simmesh::zero
