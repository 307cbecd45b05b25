#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::tidy {

// Finding is one place where a rule is broken. Lines count from 1; 0 means the whole file.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string text;
};

std::ostream& operator<<(std::ostream& out, const Finding& finding);

// SourceFile is one text file of the repository. Paths are relative to its root.
class SourceFile {
 public:
  SourceFile(std::string path, std::string_view text);

  const std::string& path() const { return path_; }
  // lines returns the text, line by line.
  const std::vector<std::string>& lines() const { return lines_; }
  // code returns the same lines with comments and the contents of literals replaced by blanks, so
  // columns stay the same.
  const std::vector<std::string>& code() const { return code_; }

  bool has_extension(std::string_view extension) const;
  bool is_header() const { return has_extension(".h"); }
  // is_cpp is true if the file is C++ or C, which clang-format formats.
  bool is_cpp() const;

 private:
  std::string path_;
  std::vector<std::string> lines_;
  std::vector<std::string> code_;
};

// source_tree returns every text file that people write, in the order of their paths. Build output
// and recorded cases are left out.
const std::vector<SourceFile>& source_tree();

// find_file returns the file of the tree with that path, null where there is none.
const SourceFile* find_file(std::string_view path);

using Rule = std::function<std::vector<Finding>(const SourceFile&)>;

// holds_in_tree applies a rule to every file. If the rule is broken, the result lists all findings,
// one per line.
::testing::AssertionResult holds_in_tree(const Rule& rule);

// trimmed returns text without the blanks at both ends.
std::string_view trimmed(std::string_view text);

// quoted_include returns the path that a line includes in quotes, empty for any other line.
std::string_view quoted_include(std::string_view line);

// is_identifier_char is true if a character can be part of a C++ name.
bool is_identifier_char(char c);

}  // namespace simmesh::tidy
