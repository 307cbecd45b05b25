#pragma once

#include <gsl/span>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "replay/timeline/timeline.h"
#include "verify/recorded_case.h"

namespace simmesh {

// read_case_timeline reads the timelines of a case, in which the k-th communication of each rank is
// the same one: groups don't count. Raises a BadCase where a file can't be read.
replay::JobTimeline read_case_timeline(const RecordedCase& recorded,
                                       gsl::span<const std::string> paths);

// in_nanoseconds returns a value with each number that isn't an integer rounded to three decimals:
// profilers write microseconds with as many, and their differences are rounded in binary.
nlohmann::json in_nanoseconds(const nlohmann::json& value);

}  // namespace simmesh
