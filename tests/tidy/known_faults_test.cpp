#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

// A file known_..._faults_test.cpp lists at its head the faults that other tests show:
//
//   // Tested elsewhere:
//   //   166598: Propagate.ShardOrdersOfContractedDimsAgree
//
// Each of these tests must exist.
namespace simmesh::tidy {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

bool lists_known_faults(const SourceFile& file) {
  std::string name = file.path().substr(file.path().find_last_of('/') + 1);
  return name.starts_with("known_") && name.ends_with("_faults_test.cpp");
}

// Returns tests by their full names; those of a fixture may have theirs on the line after the
// macro.
std::set<std::string> tests_in(const std::vector<SourceFile>& files) {
  static const std::regex declaration(R"(^(?:SIMMESH_)?TEST(?:_F|_P)?\((\w+),\s*(\w+))");
  std::set<std::string> names;
  for (const SourceFile& file : files) {
    const auto& lines = file.lines();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with("TEST") && !lines[i].starts_with("SIMMESH_TEST")) continue;
      std::string text = lines[i] + (i + 1 < lines.size() ? lines[i + 1] : "");
      std::smatch match;
      if (std::regex_search(text, match, declaration))
        names.insert(match[1].str() + "." + match[2].str());
    }
  }
  return names;
}

std::vector<Finding> unknown_tests(const SourceFile& file, const std::set<std::string>& known) {
  static const std::regex entry(R"(^//   .*: (\w+\.\w+)$)");
  std::vector<Finding> findings;
  if (!lists_known_faults(file)) return findings;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    std::smatch match;
    if (std::regex_search(file.lines()[i], match, entry) && !known.contains(match[1].str()))
      findings.push_back({file.path(), i + 1, "there is no test " + match[1].str()});
  }
  return findings;
}

// A fault whose test was renamed or removed would count as tested.
TEST(KnownFaults, TestsThatAreNamedExist) {
  std::set<std::string> known = tests_in(source_tree());
  EXPECT_GT(known.size(), 1000u);
  EXPECT_TRUE(holds_in_tree([&](const SourceFile& file) { return unknown_tests(file, known); }));
}

TEST(KnownFaults, FiresOnATestThatIsNotThere) {
  std::vector<SourceFile> tests = {{"tests/a_test.cpp",
                                    "TEST(Planner, IsRight) {}\n"
                                    "SIMMESH_TEST_P(Split,\n  Holds, {}) {}"}};
  SourceFile list("tests/sharding/known_a_faults_test.cpp",
                  "// Tested elsewhere:\n//   1: Planner.IsRight\n//   2: Split.Holds\n"
                  "//   2.15 three: Planner.IsWrong\n");
  EXPECT_THAT(unknown_tests(list, tests_in(tests)), SizeIs(1));
  EXPECT_THAT(unknown_tests({"tests/sharding/other_test.cpp", "//   2: Planner.IsWrong"}, {}),
              IsEmpty());
}

}  // namespace
}  // namespace simmesh::tidy
