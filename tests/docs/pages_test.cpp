#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// Links in the pages lead somewhere, and every path of the repository that a page names exists.
// Without this test, pages become wrong when a file moves.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace fs = std::filesystem;

const fs::path repository = SIMMESH_SOURCE_DIR;

// prose returns the lines of a page with fenced code blanked out.
std::vector<std::string> prose(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  bool fenced = false;
  for (const std::string& line : lines) {
    bool fence = trimmed(line).substr(0, 3) == "```";
    if (fence) fenced = !fenced;
    kept.push_back(fenced || fence ? "" : line);
  }
  return kept;
}

// between returns the text between the marks, for each pair of marks in the line.
std::vector<std::string> between(std::string_view line, std::string_view open,
                                 std::string_view close) {
  std::vector<std::string> found;
  for (;;) {
    std::size_t begin = line.find(open);
    if (begin == line.npos) return found;
    line.remove_prefix(begin + open.size());
    std::size_t end = line.find(close);
    if (end == line.npos) return found;
    found.emplace_back(line.substr(0, end));
    line.remove_prefix(end + close.size());
  }
}

// anchor_of returns the anchor of a heading: lower case, blanks as dashes, no punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (char c : trimmed(heading)) {
    if (c == ' ')
      anchor += '-';
    else if (c == '-' || is_identifier_char(c))
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

bool has_anchor(const SourceFile& page, std::string_view anchor) {
  for (std::string_view line : prose(page.lines())) {
    if (line.substr(0, 1) != "#") continue;
    while (line.substr(0, 1) == "#") line.remove_prefix(1);
    if (anchor_of(line) == anchor) return true;
  }
  return false;
}

bool leads_somewhere(const SourceFile& page, const std::string& link) {
  if (link.find("://") != link.npos || link.substr(0, 7) == "mailto:") return true;
  std::string path = link.substr(0, link.find('#'));
  std::string anchor = path.size() < link.size() ? link.substr(path.size() + 1) : "";
  if (path.empty()) return has_anchor(page, anchor);
  fs::path target = (fs::path(page.path()).parent_path() / path).lexically_normal();
  if (!fs::exists(repository / target)) return false;
  if (anchor.empty()) return true;
  for (const SourceFile& other : source_tree())
    if (other.path() == target.generic_string()) return has_anchor(other, anchor);
  return false;
}

// looks_like_path is true if a piece of inline code names a file or folder of the repository.
bool looks_like_path(std::string_view code) {
  std::size_t slash = code.find('/');
  if (slash == code.npos || code.find(' ') != code.npos) return false;
  std::string_view top = code.substr(0, slash);
  if (top.empty() || top == "build") return false;
  if (top == "core") return true;
  for (const auto& row : house)
    for (std::string_view folder : row)
      if (folder == top) return true;
  return is_identifier_char(top.back()) && fs::is_directory(repository / fs::path(top));
}

// path_exists takes a path with an optional line number. If the path has a placeholder (<, * or {),
// only the folder before it must exist.
bool path_exists(std::string path) {
  path = path.substr(0, path.find(':'));
  std::size_t open = path.find_first_of("<*{");
  if (open != path.npos) path = path.substr(0, path.rfind('/', open));
  return fs::exists(repository / path) || fs::exists(repository / (path + ".h"));
}

std::vector<Finding> dead_links(const SourceFile& page) {
  std::vector<Finding> findings;
  if (!page.has_extension(".md")) return findings;
  std::vector<std::string> lines = prose(page.lines());
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const std::string& link : between(lines[i], "](", ")"))
      if (!leads_somewhere(page, link))
        findings.push_back({page.path(), i + 1, fmt::format("the link {} leads nowhere", link)});
  return findings;
}

std::vector<Finding> dead_paths(const SourceFile& page) {
  std::vector<Finding> findings;
  if (!page.has_extension(".md")) return findings;
  std::vector<std::string> lines = prose(page.lines());
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (const std::string& code : between(lines[i], "`", "`"))
      if (looks_like_path(code) && !path_exists(code))
        findings.push_back({page.path(), i + 1, fmt::format("there is no {}", code)});
  return findings;
}

TEST(Pages, LinksLeadSomewhere) { EXPECT_TRUE(holds_in_tree(dead_links)); }
TEST(Pages, PathsExist) { EXPECT_TRUE(holds_in_tree(dead_paths)); }

TEST(Pages, FiresOnDeadLinks) {
  EXPECT_THAT(dead_links({"docs/a.md", "See [b](no_such_page.md).\n"}), SizeIs(1));
  EXPECT_THAT(dead_links({"docs/a.md", "# One\n\nSee [b](#two) and [c](#one).\n"}), SizeIs(1));
  EXPECT_THAT(dead_links({"a.md", "See [b](CONTRIBUTING.md#no-such-heading).\n"}), SizeIs(1));
}

TEST(Pages, FiresOnDeadPaths) {
  EXPECT_THAT(dead_paths({"docs/a.md", "`core/no_such_folder` and `tests/no/such.h`\n"}),
              SizeIs(2));
  EXPECT_THAT(dead_paths({"docs/a.md", "`tests/no_such_folder/*.cpp`\n"}), SizeIs(1));
}

TEST(Pages, LeaveAllElseAlone) {
  SourceFile good(
      "docs/a.md",
      "# The Head, of `it`\n[a](../CMakeLists.txt) [b](https://x.org) [c](#the-head-of-it)\n"
      "`core/check/error.h:12`, `tests/tidy/*.h`, `tests/<folder>/x`, `dp/tp`, `a / b`\n"
      "```\n[x](nowhere) `core/nothing`\n```\n");
  EXPECT_THAT(dead_links(good), IsEmpty());
  EXPECT_THAT(dead_paths(good), IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
