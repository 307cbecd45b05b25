#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/schedule/action.h"

namespace simmesh::pipeline {

// A Row is what one rank does, from first to last, with idle slots where it is made to wait. Rows
// are those of all ranks, in rank order.
using Row = std::vector<Action>;
using Rows = std::vector<Row>;

// parse_row reads actions that are separated by commas: "0F0,,0B0". An empty text is an empty row.
// Raises as Action::parse does.
Row parse_row(std::string_view text);

// to_string returns the text that parse_row reads. Rows have a line each, and the last one doesn't
// end with a line break.
std::string to_string(const Row& row);
std::string to_string(const Rows& rows);

// without_idle returns the rows without their idle slots, compute_rows with nothing but F, B, I, W
// and compound actions.
Rows without_idle(const Rows& rows);
Rows compute_rows(const Rows& rows);

// idle_slots counts the idle slots of a row.
std::int64_t idle_slots(const Row& row);

// stage_count returns the number of stages that rows name: the highest one plus 1.
std::int64_t stage_count(const Rows& rows);

}  // namespace simmesh::pipeline
