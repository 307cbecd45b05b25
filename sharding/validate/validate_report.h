#pragma once

#include <string>

#include "sharding/validate/validate.h"

namespace simmesh {

// to_text returns what `simmesh validate` prints: a line an op; below it each claimed rule that
// doesn't hold, with the smallest trial that shows it and a line that repeats it, and each rule
// that is missing; last "N rules, N wrong, N missing". Quiet, it is the last line only.
std::string to_text(const ValidateResult& result, const ValidateRequest& request, bool quiet);

// reproduce_line returns "reproduce: simmesh validate sum --seed 0".
std::string reproduce_line(const std::string& op, const ValidateOptions& options);

}  // namespace simmesh
