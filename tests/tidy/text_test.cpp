#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/source_tree.h"

// Rules for every text file: no trailing blanks, no tabs, headers with #pragma once, no notes about
// work that is left for later.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> stray_blanks(const SourceFile& file) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::string& line = file.lines()[i];
    if (!line.empty() && (line.back() == ' ' || line.back() == '\r'))
      findings.push_back({file.path(), i + 1, "trailing blank"});
    if (line.find('\t') != std::string::npos) findings.push_back({file.path(), i + 1, "tab"});
  }
  return findings;
}

std::vector<Finding> unguarded_headers(const SourceFile& file) {
  if (!file.is_header()) return {};
  for (const std::string& line : file.code()) {
    if (trimmed(line).empty()) continue;
    if (trimmed(line) == "#pragma once") return {};
    break;
  }
  return {{file.path(), 1, "expected #pragma once before any code"}};
}

// The words are put together here, so that this file doesn't contain them.
const std::vector<std::string> leftover_words = {std::string("TO") + "DO",
                                                 std::string("FIX") + "ME", std::string("XX") + "X",
                                                 std::string("HA") + "CK"};

std::vector<Finding> leftovers(const SourceFile& file) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::string& line = file.lines()[i];
    for (const std::string& word : leftover_words) {
      std::size_t at = line.find(word);
      if (at == std::string::npos) continue;
      bool begins = at == 0 || !is_identifier_char(line[at - 1]);
      bool ends = at + word.size() == line.size() || !is_identifier_char(line[at + word.size()]);
      if (begins && ends)
        findings.push_back({file.path(), i + 1, fmt::format("leftover {}", word)});
    }
  }
  return findings;
}

TEST(Text, HasNoStrayBlanks) { EXPECT_TRUE(holds_in_tree(stray_blanks)); }
TEST(Text, HeadersAreGuarded) { EXPECT_TRUE(holds_in_tree(unguarded_headers)); }
TEST(Text, LeavesNothingForLater) { EXPECT_TRUE(holds_in_tree(leftovers)); }

TEST(Text, FiresOnStrayBlanks) {
  EXPECT_THAT(stray_blanks({"mesh/a.h", "int a; \n"}), SizeIs(1));
  EXPECT_THAT(stray_blanks({"docs/a.md", "word\r\n"}), SizeIs(1));
  EXPECT_THAT(stray_blanks({"cmake/a.cmake", "\tset(x)\n"}), SizeIs(1));
  EXPECT_THAT(stray_blanks({"mesh/a.h", "int a;\n\n"}), IsEmpty());
}

TEST(Text, FiresOnAnUnguardedHeader) {
  EXPECT_THAT(unguarded_headers({"mesh/a.h", "#include <vector>\n#pragma once\n"}), SizeIs(1));
  EXPECT_THAT(unguarded_headers({"mesh/a.h", "// What it is.\n\n#pragma once\n"}), IsEmpty());
}

TEST(Text, FiresOnEveryLeftoverWord) {
  for (const std::string& word : leftover_words) {
    EXPECT_THAT(leftovers({"mesh/a.cpp", "// " + word + ": later\n"}), SizeIs(1));
    EXPECT_THAT(leftovers({"mesh/a.cpp", "// " + word + "S is another word\n"}), IsEmpty());
  }
}

}  // namespace
}  // namespace simmesh::tidy
