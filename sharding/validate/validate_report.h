#pragma once

#include <string>

#include "sharding/validate/validate.h"

namespace simmesh {

// to_text returns the output of `simmesh validate`. Each op has a line. Below it come the claimed
// rules that don't hold, each with the smallest trial that shows it and a line that repeats it, and
// the missing rules. The last line is "N rules, N wrong, N missing"; quiet, there is no other.
std::string to_text(const ValidateResult& result, const ValidateRequest& request, bool quiet);

// reproduce_line returns "reproduce: simmesh validate sum --seed 0".
std::string reproduce_line(const std::string& op, const ValidateOptions& options);

}  // namespace simmesh
