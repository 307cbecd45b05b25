#pragma once

#include <string_view>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// read_process_groups reads the text of the annotation "## process_group:init ##": a JSON list of
// objects. Raises a simdjson_error for text that was cut or isn't such a list.
std::vector<ProcessGroupRecord> read_process_groups(std::string_view text);

}  // namespace simmesh::replay
