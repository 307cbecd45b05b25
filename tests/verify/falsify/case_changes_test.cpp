#include "verify/falsify/case_changes.h"

#include <gmock/gmock.h>
#include <map>
#include <set>

#include "verify/case_kind.h"

namespace simmesh {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

Schema small_schema() {
  using namespace schema;
  Fields fields = shared_fields();
  fields.push_back(required("size", integer()));
  fields.push_back(label("note", text()));
  fields.push_back(expected("steps", list(word({"a", "b"}))));
  return object(std::move(fields));
}

RecordedCase small_case() {
  return RecordedCase::parse(
      R"({"kind": "k", "id": "i", "size": 3, "note": "x", "steps": ["a", "b"]})", {});
}

std::vector<std::string> described(const std::vector<CaseChange>& changes) {
  std::vector<std::string> texts;
  for (const CaseChange& change : changes)
    texts.push_back(change.at.to_string() + ": " + change.name);
  return texts;
}

// A way to break a case that isn't among the changes is a way in which it is never broken.
TEST(CaseChanges, ChangeEachPlaceInEachWay) {
  EXPECT_THAT(
      described(case_changes(small_case(), *small_schema())),
      ElementsAre(": a field that nobody knows", "/size: left out", "/size: another value",
                  "/size: another type", "/note: left out", "/note: another value",
                  "/note: another type", "/steps: left out", "/steps: an entry less",
                  "/steps: an entry twice", "/steps: two entries swapped", "/steps: another type",
                  "/steps/0: another value", "/steps/0: another type", "/steps/1: another value",
                  "/steps/1: another type"));
}

// A change that makes no difference would always pass.
TEST(CaseChanges, MakeAnotherCase) {
  json value = small_case().root().value();
  for (const CaseChange& change : case_changes(small_case(), *small_schema()))
    EXPECT_NE(change.apply(value), value) << change.at << change.name;
}

// Results have no excuse; inputs have one while the schema accepts them, and labels their own.
TEST(CaseChanges, AreExcusedByTheSchema) {
  auto schema = small_schema();
  for (const CaseChange& change : case_changes(small_case(), *schema)) {
    std::string at = change.at.to_string();
    bool is_strict = at.starts_with("/steps") || at.empty() || change.name == "another type" ||
                     (at == "/size" && change.name == "left out");
    EXPECT_EQ(change.excuse.empty(), is_strict) << at << " " << change.name;
    if (at == "/note" && !is_strict) {
      EXPECT_EQ(change.excuse, "for human readers");
    }
  }
}

// A sample that depended on anything but the seed could not be reproduced.
TEST(CaseChanges, AreSampledBySeed) {
  std::vector<CaseChange> all = case_changes(small_case(), *small_schema());
  auto first = described(sample_changes(all, {.count = 5}, 1));
  EXPECT_EQ(first, described(sample_changes(all, {.count = 5}, 1)));
  EXPECT_NE(first, described(sample_changes(all, {.count = 5}, 2)));
  EXPECT_EQ(first.size(), 5u);
  EXPECT_EQ(sample_changes(all, {.count = 100}, 1).size(), all.size());
}

// A field that a sample leaves out would never be changed in a long list's case.
TEST(CaseChanges, AreSampledAtEachField) {
  std::vector<CaseChange> all = case_changes(small_case(), *small_schema());
  std::map<std::string, int> seen;
  for (const CaseChange& change : sample_changes(all, {.per_field = 1}, 3))
    ++seen[change.name + path_pattern(change.at)];
  std::set<std::string> expected;
  for (const CaseChange& change : all) expected.insert(change.name + path_pattern(change.at));
  EXPECT_EQ(seen.size(), expected.size());
  for (const auto& [name, count] : seen) EXPECT_EQ(count, 1) << name;
  EXPECT_EQ(sample_changes(all, {.per_field = 2}, 3).size(), all.size());
}

TEST(CaseChanges, PatternsHaveNoIndices) {
  EXPECT_EQ(path_pattern(json::json_pointer("/a/3/b")), "/a/[]/b");
  EXPECT_EQ(path_pattern(json::json_pointer("")), "/");
}

}  // namespace
}  // namespace simmesh
