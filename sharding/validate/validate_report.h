#pragma once

#include <string>
#include <vector>

#include "core/shards/report_block.h"
#include "sharding/validate/validate.h"

namespace simmesh {

// op_block returns what is printed of one op, and counts its "rules", those that are "wrong", the
// "missing" ones and the "combinations" of placements.
ReportBlock op_block(const OpVerdict& op, const ValidateOptions& options);
std::vector<ReportBlock> op_blocks(const ValidateResult& result, const ValidateOptions& options);

// to_text returns the output of `simmesh validate`. Each op has a line. Below it come the claimed
// rules that don't hold, each with the smallest trial that shows it and a line that repeats it, and
// the missing rules. The last line is "N rules, N wrong, N missing"; quiet, there is no other.
std::string to_text(const ValidateResult& result, const ValidateRequest& request, bool quiet);
std::string text_of_ops(gsl::span<const ReportBlock> ops, bool quiet);

// to_json returns the same content as one line of JSON.
std::string to_json(const ValidateResult& result, const ValidateRequest& request);
std::string json_of_ops(gsl::span<const ReportBlock> ops);

// reproduce_line returns "reproduce: simmesh validate sum --seed 0".
std::string reproduce_line(const std::string& op, const ValidateOptions& options);

}  // namespace simmesh
