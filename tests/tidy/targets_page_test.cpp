#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "tests/tidy/source_tree.h"

// docs/use_from_outside.md says of each target that users can link what it has. Without this test a
// new library stays unknown to them.
namespace simmesh::tidy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the names between an opening and a closing text, one a line at most.
std::vector<std::string> names_in(const SourceFile& file, std::string_view open,
                                  std::string_view close) {
  std::vector<std::string> names;
  for (std::string_view line : file.lines()) {
    std::size_t begin = line.find(open);
    if (begin == line.npos) continue;
    line.remove_prefix(begin + open.size());
    names.emplace_back(line.substr(0, line.find_first_of(close)));
  }
  return names;
}

// Returns the targets that a file of CMake defines for users: its libraries, and those with an
// alias.
std::vector<std::string> targets_of(const SourceFile& cmake) {
  std::vector<std::string> targets = names_in(cmake, "simmesh_library(", " )");
  std::vector<std::string> others = names_in(cmake, "add_library(simmesh::", " ");
  targets.insert(targets.end(), others.begin(), others.end());
  return targets;
}

// Returns what is wrong with the table of a page: the first cells of its rows are targets.
std::vector<std::string> differences(const SourceFile& cmake, const SourceFile& page) {
  std::vector<std::string> rows = names_in(page, "| `simmesh::", "`"), found;
  std::multiset<std::string> unnamed(rows.begin(), rows.end());
  for (const std::string& target : targets_of(cmake)) {
    // The table is about the parts of this one.
    if (target == "simmesh") continue;
    if (auto row = unnamed.find(target); row != unnamed.end())
      unnamed.erase(row);
    else
      found.push_back(fmt::format("simmesh::{} has no row", target));
  }
  for (const std::string& row : unnamed)
    found.push_back(fmt::format("simmesh::{} is no target, or has two rows", row));
  return found;
}

TEST(TargetsPage, HasARowForEveryTarget) {
  const SourceFile *cmake = find_file("CMakeLists.txt"),
                   *page = find_file("docs/use_from_outside.md");
  ASSERT_TRUE(cmake && page);
  EXPECT_THAT(targets_of(*cmake), Contains("runtime"));
  EXPECT_THAT(differences(*cmake, *page), IsEmpty());
}

TEST(TargetsPage, FiresOnRowsThatAreMissingUnknownOrThereTwice) {
  SourceFile cmake("CMakeLists.txt",
                   "simmesh_library(mesh USES simmesh_core)\nsimmesh_library(zero)\n"
                   "add_library(simmesh::simmesh ALIAS simmesh)\n");
  SourceFile page("a.md", "| `simmesh::mesh` | |\n| `simmesh::mesh` | |\n| `simmesh::nave` | |\n");
  EXPECT_THAT(differences(cmake, page),
              ElementsAre("simmesh::zero has no row", "simmesh::mesh is no target, or has two rows",
                          "simmesh::nave is no target, or has two rows"));
}

}  // namespace
}  // namespace simmesh::tidy
