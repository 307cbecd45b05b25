#pragma once

#include <gsl/span>
#include <string>

#include "core/shards/report_block.h"
#include "gate/result.h"

namespace simmesh {

// GateTextOptions are the options of the text of results.
struct GateTextOptions {
  bool quiet = false;  // only the last line
};

// gate_block returns what is printed of one gate, and counts its checks that "passed" and "failed".
ReportBlock gate_block(const GateResult& result);

// to_text returns the results as `simmesh run` prints them: a block for each gate, and a last line
// "N passed, N failed" over all checks.
std::string to_text(gsl::span<const GateResult> results, GateTextOptions options = {});
std::string text_of_gates(gsl::span<const ReportBlock> gates, GateTextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(gsl::span<const GateResult> results);
std::string json_of_gates(gsl::span<const ReportBlock> gates);

}  // namespace simmesh
