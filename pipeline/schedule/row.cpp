#include "pipeline/schedule/row.h"

#include <algorithm>

#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

template <class Keeps>
Rows rows_of(const Rows& rows, Keeps keeps) {
  Rows kept(rows.size());
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    std::copy_if(rows[rank].begin(), rows[rank].end(), std::back_inserter(kept[rank]), keeps);
  return kept;
}

}  // namespace

Row parse_row(std::string_view text) {
  Row row;
  if (text.empty()) return row;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    row.push_back(Action::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return row;
}

std::string to_string(const Row& row) {
  std::vector<std::string> texts;
  for (const Action& action : row) texts.push_back(to_string(action));
  return join_text(texts, ",");
}

std::string to_string(const Rows& rows) {
  std::vector<std::string> texts;
  for (const Row& row : rows) texts.push_back(to_string(row));
  return join_text(texts, "\n");
}

Rows without_idle(const Rows& rows) {
  return rows_of(rows, [](const Action& action) { return !action.is_idle(); });
}

Rows compute_rows(const Rows& rows) {
  return rows_of(rows, [](const Action& action) { return is_compute(action.kind); });
}

std::int64_t idle_slots(const Row& row) {
  return std::count_if(row.begin(), row.end(),
                       [](const Action& action) { return action.is_idle(); });
}

std::int64_t stage_count(const Rows& rows) {
  std::int64_t count = 0;
  for (const Row& row : rows)
    for (const Action& action : row)
      for (const Action& leaf : action.leaves())
        if (!leaf.is_idle()) count = std::max(count, leaf.stage + 1);
  return count;
}

}  // namespace simmesh::pipeline
