#include "verify/case_filter.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

RecordedCase recorded() {
  return RecordedCase::parse(R"j({"kind":"plan","id":"plan/1/2x2/S(0)",)j"
                             R"j("tensor":{"shape":[4,6],"dtype":"float32"},"n":null})j",
                             {});
}

bool where_holds(std::string_view condition) {
  CaseFilter filter;
  filter.where.push_back(CaseFilter::parse_where(condition));
  return filter.matches(recorded());
}

TEST(CaseFilter, ChoosesByKindAndId) {
  EXPECT_TRUE(CaseFilter().matches(recorded()));
  EXPECT_TRUE((CaseFilter{.kinds = {"mesh", "plan"}}.matches(recorded())));
  EXPECT_FALSE((CaseFilter{.kinds = {"mesh"}}.matches(recorded())));
  EXPECT_FALSE((CaseFilter{.excluded_kinds = {"plan"}}.matches(recorded())));
  EXPECT_TRUE((CaseFilter{.excluded_kinds = {"mesh"}, .id = "plan/*"}.matches(recorded())));
  EXPECT_FALSE((CaseFilter{.id = "plan"}.matches(recorded())));
}

TEST(CaseFilter, ChoosesByFields) {
  EXPECT_TRUE(where_holds("tensor.dtype=\"float32\""));
  EXPECT_FALSE(where_holds("tensor.dtype=\"int32\""));
  EXPECT_TRUE(where_holds("tensor.shape=[4, 6]"));
  EXPECT_TRUE(where_holds("tensor.shape.1=6"));
  EXPECT_TRUE(where_holds("n=null"));
  for (std::string_view absent : {"tensor.shape.2=6", "tensor.shape.-1=6", "tensor.shape.1x=6",
                                  "tensor.none=null", "n.x=1", "kind.0=\"p\""})
    EXPECT_FALSE(where_holds(absent)) << absent;
}

TEST(CaseFilter, RefusesWhatItCannotRead) {
  for (std::string_view text : {"", "x", "=1", "x=", "x=float32", "x=[1", "x=1e999"})
    expect_error([&] { CaseFilter::parse_where(text); }, ErrorKind::value_error, "FIELD=JSON");
  for (std::string_view text : {"", "a,", ",a", "a,,b"})
    expect_error([&] { CaseFilter::split(text); }, ErrorKind::value_error, "expected KIND");
  EXPECT_THAT(CaseFilter::split("a,b"), ElementsAre("a", "b"));
}

TEST(CaseFilter, GlobsMatchWholeTexts) {
  struct Row {
    std::string_view pattern, text;
    bool matches;
  };
  for (const Row& row : {Row{"", "", true},
                         Row{"", "a", false},
                         Row{"*", "", true},
                         Row{"*", "a/b", true},
                         Row{"a*c", "abbc", true},
                         Row{"a*c", "abcd", false},
                         Row{"*b*", "abc", true},
                         Row{"?", "a", true},
                         Row{"?", "", false},
                         Row{"a?c", "abc", true},
                         Row{"*a*b*c", "xaxbxbxc", true},
                         Row{"*aab", "aaaab", true},
                         Row{"\\*", "*", true},
                         Row{"\\*", "a", false},
                         Row{"a\\?*", "a?b", true},
                         Row{"a\\", "a\\", true},
                         Row{"[a]", "[a]", true},
                         Row{"[a]", "a", false},
                         Row{"**", "ab", true},
                         Row{"*\\\\", "a\\", true}})
    EXPECT_EQ(glob_matches(row.pattern, row.text), row.matches) << row.pattern << " " << row.text;
}

// Ids in the line that reproduces a failure must match themselves only; and no pattern may take
// forever.
TEST(CaseFilter, LiteralGlobsMatchThemselves) {
  for (std::string text : {"a*b?c\\d", "S(0)->R", "\\", "***"}) {
    EXPECT_TRUE(glob_matches(glob_literal(text), text));
    EXPECT_FALSE(glob_matches(glob_literal(text), text + "x"));
  }
  EXPECT_FALSE(glob_matches("a*b", "axx"));
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "a*";
  EXPECT_FALSE(glob_matches(stars + "b", std::string(20'000, 'a')));
}

}  // namespace
}  // namespace simmesh
