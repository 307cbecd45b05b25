#pragma once

#include <gsl/span>
#include <string>

#include "gate/result.h"

namespace simmesh {

// GateTextOptions are the options of the text of results.
struct GateTextOptions {
  bool quiet = false;  // only the last line
};

// to_text returns the results as `simmesh run` prints them: a block for each gate, and a last line
// "N passed, N failed" over all checks.
std::string to_text(gsl::span<const GateResult> results, GateTextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(gsl::span<const GateResult> results);

}  // namespace simmesh
