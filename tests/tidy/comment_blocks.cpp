#include "tests/tidy/comment_blocks.h"

#include <algorithm>
#include <string_view>

namespace simmesh::tidy {
namespace {

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// BlockList joins the comments of neighbouring lines.
class BlockList {
 public:
  // add takes the comment that begins at a column of line number `index`, with its mark.
  void add(const std::string& line, std::size_t index, std::size_t column, std::string_view mark) {
    std::string_view text = std::string_view(line).substr(column);
    text.remove_prefix(std::min(text.find_first_not_of(mark), text.size()));
    bool fills_line = trimmed(std::string_view(line).substr(0, column)).empty();
    if (fills_line && !blocks_.empty() && index == last_ + 1 && column == column_)
      blocks_.back().text += " " + std::string(trimmed(text));
    else
      blocks_.push_back({index + 1, std::string(trimmed(text))});
    last_ = index;
    column_ = column;
  }
  void add(CommentBlock block) { blocks_.push_back(std::move(block)); }

  std::vector<CommentBlock> take() { return std::move(blocks_); }

 private:
  std::vector<CommentBlock> blocks_;
  std::size_t last_ = 0, column_ = 0;
};

std::vector<CommentBlock> cpp_comments(const SourceFile& file) {
  BlockList blocks;
  bool in_literal = false;  // a raw one may go over several lines
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::string_view line = file.lines()[i], code = file.code()[i];
    for (std::size_t column = 0; column < line.size(); ++column) {
      if (code[column] == '"') in_literal = !in_literal;
      std::string_view mark = line.substr(column, 2);
      if (in_literal || code[column] != ' ' || (mark != "//" && mark != "/*")) continue;
      blocks.add(file.lines()[i], i, column, mark);
      break;
    }
  }
  return blocks.take();
}

// ScriptReader finds the comments of a language whose comments begin with #.
class ScriptReader {
 public:
  explicit ScriptReader(const SourceFile& file)
      : file_(file),
        is_python_(file.has_extension(".py")),
        is_cmake_(file.has_extension(".cmake") || file.has_extension("CMakeLists.txt")) {}

  std::vector<CommentBlock> read() {
    for (index_ = 0; index_ < file_.lines().size(); ++index_) read_line(file_.lines()[index_]);
    return blocks_.take();
  }

 private:
  void read_line(const std::string& line) {
    std::string_view text = trimmed(line);
    if (quote_.empty() && is_python_ && begins_with(text, "\"\"\"") && may_be_docstring_)
      return read_docstring();
    std::size_t column = 0;
    while (column < line.size() && !begins_comment(line, column)) column = next(line, column);
    if (column < line.size() && !begins_with(text, "#!")) blocks_.add(line, index_, column, "#");
    if (is_python_ && quote_.size() == 1) quote_.clear();
    std::string_view code = trimmed(std::string_view(line).substr(0, column));
    if (!code.empty()) may_be_docstring_ = code.back() == ':';
  }

  bool begins_comment(const std::string& line, std::size_t column) const {
    return quote_.empty() && line[column] == '#' && (column == 0 || line[column - 1] == ' ');
  }

  // next returns the column after a character, or after the quotes that open or close a literal.
  std::size_t next(const std::string& line, std::size_t column) {
    char c = line[column];
    if (c == '\\') return column + 2;
    if (c != '"' && (c != '\'' || is_cmake_)) return column + 1;
    bool is_triple = is_python_ && line.compare(column, 3, std::string(3, c)) == 0;
    std::string here(is_triple ? 3 : 1, c);
    if (quote_.empty())
      quote_ = here;
    else if (quote_ == here)
      quote_.clear();
    return column + here.size();
  }

  void read_docstring() {
    std::string_view first = trimmed(file_.lines()[index_]).substr(3);
    CommentBlock block{index_ + 1, std::string(first)};
    while (block.text.find("\"\"\"") == std::string::npos && index_ + 1 < file_.lines().size())
      block.text += " " + std::string(trimmed(file_.lines()[++index_]));
    block.text = block.text.substr(0, block.text.find("\"\"\""));
    blocks_.add(std::move(block));
    may_be_docstring_ = false;
  }

  const SourceFile& file_;
  bool is_python_, is_cmake_;
  std::size_t index_ = 0;
  std::string quote_;             // of the literal that is open
  bool may_be_docstring_ = true;  // a literal here would be the first statement of a body
  BlockList blocks_;
};

}  // namespace

std::vector<CommentBlock> comment_blocks(const SourceFile& file) {
  if (file.is_cpp()) return cpp_comments(file);
  if (file.has_extension(".md")) return {};
  return ScriptReader(file).read();
}

}  // namespace simmesh::tidy
