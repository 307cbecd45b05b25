#pragma once

#include <string>
#include <vector>

namespace simmesh::replay {

// TextTable formats rows of words below a header, aligned: the first column to the left, numbers to
// the right.
//
//   replay::TextTable busy({"rank", "busy (us)"});
//   busy.add({"0", "12.5"});
//   std::string lines = busy.text();
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}

  // add adds a row with as many cells as the header.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  // text returns the lines, each after two blanks; a column is right-aligned if all of its cells
  // are numbers.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace simmesh::replay
