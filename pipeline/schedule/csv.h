#pragma once

#include <string>
#include <string_view>

#include "pipeline/schedule/row.h"

namespace simmesh::pipeline {

// read_csv reads a file with a row a rank, as PyTorch's loader does: actions are separated by
// commas, an empty field is an idle slot, a field may be quoted, and an empty line is a rank
// without actions. Raises as Action::parse does.
Rows read_csv(std::string_view text);

// write_csv returns such a file, whose lines end with CR LF. A row of one idle slot is written as
// two quotes.
std::string write_csv(const Rows& rows);

}  // namespace simmesh::pipeline
