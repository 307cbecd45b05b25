#include "replay/report/text_table.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh::replay {

namespace {

// A bound is a number, and so is one that nobody knows.
bool is_number(const std::string& cell) {
  return cell == "unknown" || cell.find_first_not_of("0123456789.-+%<=>") == std::string::npos;
}

}  // namespace

std::string TextTable::text() const {
  std::size_t columns = rows_[0].size();
  std::vector<std::size_t> widths(columns, 0);
  std::vector<bool> is_right(columns, true);
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      widths[column] = std::max(widths[column], rows_[row][column].size());
      if (row > 0 && !is_number(rows_[row][column])) is_right[column] = false;
    }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t column = 0; column < columns; ++column)
      line += is_right[column] ? fmt::format("  {:>{}}", row[column], widths[column])
                               : fmt::format("  {:<{}}", row[column], widths[column]);
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace simmesh::replay
