#include "pipeline/schedule/csv.h"

#include <algorithm>

namespace simmesh::pipeline {

namespace {

// CsvReader takes the fields of a file one by one.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  // Takes a line with its end.
  Row row() {
    Row row;
    if (take_line_end()) return row;
    do row.push_back(Action::parse(field()));
    while (take(','));
    take_line_end();
    return row;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_line_end() {
    if (take('\r')) {
      take('\n');
      return true;
    }
    return take('\n');
  }

  std::string field() {
    std::string text;
    if (take('"')) take_quoted(text);
    std::size_t end = std::min(rest_.find_first_of(",\r\n"), rest_.size());
    text += rest_.substr(0, end);
    rest_.remove_prefix(end);
    return text;
  }

  // Takes up to the quote that ends a field; two quotes stand for one.
  void take_quoted(std::string& text) {
    while (!rest_.empty()) {
      std::size_t end = std::min(rest_.find('"'), rest_.size());
      text += rest_.substr(0, end);
      rest_.remove_prefix(end);
      take('"');
      if (!take('"')) return;
      text += '"';
    }
  }

  std::string_view rest_;
};

}  // namespace

Rows read_csv(std::string_view text) {
  Rows rows;
  for (CsvReader reader(text); !reader.at_end();) rows.push_back(reader.row());
  return rows;
}

std::string write_csv(const Rows& rows) {
  std::string text;
  for (const Row& row : rows) {
    bool is_one_idle_slot = row.size() == 1 && row.front().is_idle();
    text += is_one_idle_slot ? "\"\"" : to_string(row);
    text += "\r\n";
  }
  return text;
}

}  // namespace simmesh::pipeline
