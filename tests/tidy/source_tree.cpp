#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace simmesh::tidy {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// literal_end returns the position after the literal that opens with the quote at begin.
std::size_t literal_end(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  if (quote == '"' && begin > 0 && text[begin - 1] == 'R') {
    std::size_t open = std::min(text.find('(', begin), text.size());
    std::string close = ")" + std::string(text.substr(begin + 1, open - begin - 1)) + "\"";
    std::size_t found = text.find(close, open);
    return found == text.npos ? text.size() : found + close.size();
  }
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote || text[i] == '\n')
      return i + 1;
  }
  return text.size();
}

// blanked returns text in which comments, and everything between quotes, are replaced by blanks.
std::string blanked(std::string_view text) {
  std::string code(text);
  auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.substr(i, 2) == "/*") {
      std::size_t close = text.find("*/", i + 2);
      end = close == text.npos ? text.size() : close + 2;
      blank(i, end);
    } else if (text[i] == '"' || (text[i] == '\'' && !(i > 0 && is_identifier_char(text[i - 1])))) {
      // A quote after a digit is a digit separator.
      end = literal_end(text, i);
      blank(i + 1, end - 1);
    }
    i = end;
  }
  return code;
}

bool is_text(const fs::path& path) {
  static const std::vector<std::string> extensions = {".h",  ".cpp",  ".c",  ".cmake",
                                                      ".py", ".toml", ".md", ".sh"};
  std::string name = path.filename().string();
  return name == "CMakeLists.txt" || name == "dev" || name == "run" ||
         std::find(extensions.begin(), extensions.end(), path.extension()) != extensions.end();
}

bool is_left_out(const std::string& path) {
  return path == ".git" || path == ".cache" || path == "build" || path == "tests/cases";
}

std::vector<SourceFile> read_tree() {
  const fs::path root = SIMMESH_SOURCE_DIR;
  std::vector<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    std::string path = entry->path().lexically_relative(root).generic_string();
    if (is_left_out(path))
      entry.disable_recursion_pending();
    else if (entry->is_regular_file() && is_text(entry->path()))
      paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  for (const std::string& path : paths) {
    std::ifstream in(root / path, std::ios::binary);
    files.emplace_back(path, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return files;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  return out << finding.path << ':' << finding.line << ": " << finding.text;
}

SourceFile::SourceFile(std::string path, std::string_view text)
    : path_(std::move(path)), lines_(split_lines(text)) {
  code_ = is_cpp() ? split_lines(blanked(text)) : lines_;
}

bool SourceFile::has_extension(std::string_view extension) const {
  return path_.size() > extension.size() &&
         std::string_view(path_).substr(path_.size() - extension.size()) == extension;
}

bool SourceFile::is_cpp() const {
  return has_extension(".h") || has_extension(".cpp") || has_extension(".c");
}

const std::vector<SourceFile>& source_tree() {
  static const std::vector<SourceFile> tree = read_tree();
  return tree;
}

const SourceFile* find_file(std::string_view path) {
  const std::vector<SourceFile>& tree = source_tree();
  auto found = std::lower_bound(
      tree.begin(), tree.end(), path,
      [](const SourceFile& file, std::string_view wanted) { return file.path() < wanted; });
  return found != tree.end() && found->path() == path ? &*found : nullptr;
}

::testing::AssertionResult holds_in_tree(const Rule& rule) {
  ::testing::AssertionResult failure = ::testing::AssertionFailure();
  bool holds = true;
  for (const SourceFile& file : source_tree()) {
    for (const Finding& finding : rule(file)) {
      failure << '\n' << finding;
      holds = false;
    }
  }
  return holds ? ::testing::AssertionSuccess() : failure;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

std::string_view quoted_include(std::string_view line) {
  constexpr std::string_view include = "#include \"";
  line = trimmed(line);
  if (line.substr(0, include.size()) != include) return {};
  line.remove_prefix(include.size());
  return line.substr(0, line.find('"'));
}

bool is_identifier_char(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

}  // namespace simmesh::tidy
