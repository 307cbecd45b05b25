#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "core/release/release_page.h"
#include "tests/tidy/house.h"
#include "tests/tidy/source_tree.h"

// The page about releases is written from the table of changes and from the sources that ask for
// them. Every change has a test: TEST(ReleaseChanges, ShardToPartialSum) tests
// shard_to_partial_sum.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

bool contains(const SourceFile& file, std::string_view text) {
  return std::any_of(file.code().begin(), file.code().end(),
                     [&](const std::string& line) { return line.find(text) != line.npos; });
}

// Returns the files that ask for a change, in the order of their paths.
std::vector<std::string> users_of(const ReleaseChangeRow& row) {
  std::vector<std::string> users;
  std::string text = fmt::format("ReleaseChange::{})", row.name);
  for (const SourceFile& file : source_tree())
    if (is_library(file.path()) && contains(file, text)) users.push_back(file.path());
  return users;
}

std::string test_name(std::string_view name) {
  std::string result;
  bool begins_word = true;
  for (char letter : name) {
    if (letter != '_') result += begins_word ? char(std::toupper(letter)) : letter;
    begins_word = letter == '_';
  }
  return result;
}

// A change that no code asks for changes nothing.
TEST(ReleasePage, NamesAFileForEveryChange) {
  for (const ReleaseChangeRow& row : release_changes())
    EXPECT_THAT(users_of(row), Not(IsEmpty())) << row.name;
}

// The page tells people what an upgrade changes, so it must say what the code asks for.
TEST(ReleasePage, IsWhatTableAndSourcesSay) {
  std::ifstream page(SIMMESH_SOURCE_DIR "/docs/releases.md");
  std::string written((std::istreambuf_iterator<char>(page)), {});
  std::string expected = release_page(users_of);
  if (written == expected) return;
  const std::string anew = SIMMESH_BUILD_DIR "/releases.md";
  std::ofstream(anew) << expected;
  ADD_FAILURE() << "docs/releases.md is out of date; take what was written to " << anew;
}

TEST(ReleasePage, HasATestOfEveryChange) {
  for (const ReleaseChangeRow& row : release_changes()) {
    std::string head = fmt::format("(ReleaseChanges, {}", test_name(row.name));
    bool is_tested = std::any_of(source_tree().begin(), source_tree().end(), [&](const auto& file) {
      return file.path().starts_with("tests/") &&
             (contains(file, head + ")") || contains(file, head + ","));
    });
    EXPECT_TRUE(is_tested) << "expected TEST" << head << ")";
  }
}

}  // namespace
}  // namespace simmesh::tidy
