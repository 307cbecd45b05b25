#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/findings/judged_checks.h"
#include "core/shards/report_block.h"

namespace simmesh {

// judged_checks returns the checks of a gate that was run, from its block (gate_block), for
// programs that read findings. The suite of a check is the gate's file, and the place of its
// finding is the key that asks for it, where the file still has that.
std::vector<JudgedCheck> judged_checks(const ReportBlock& gate);

// line_of_check returns the line of the key that a check is named after, in the tables of a gate
// file that ask for checks; nullopt if there is none.
std::optional<std::int64_t> line_of_check(const std::string& file, std::string_view check);

}  // namespace simmesh
