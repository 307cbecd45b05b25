#include "verify/falsify/falsify.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"
#include "verify/case_kind.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

Schema nothing_schema() {
  using namespace schema;
  return object({required("size", integer()), expected("result", integer())});
}

// A kind whose verifier compares nothing.
const CaseKind checks_nothing({.name = "test_checks_nothing",
                               .summary = "nothing",
                               .schema = nothing_schema,
                               .verifier = [](const RecordedCase&, const VerifyOptions&,
                                              CaseReport&) {}});

std::string own_case() { return SIMMESH_SOURCE_DIR "/examples/own_case.jsonl"; }

// A verifier that compares everything lets nothing through.
TEST(Falsify, CountsHowChangesEnd) {
  FalsifyResult result = falsify({.paths = {own_case()}});
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.cases, 1);
  EXPECT_EQ(result.changes, result.failed + result.refused + result.excused);
  EXPECT_GT(result.failed, 10);
  EXPECT_GT(result.refused, 5);
}

// A verifier that compares nothing must be found out, place by place, with a command that shows it.
TEST(Falsify, ListsWhatIsLetThrough) {
  testing::TemporaryFolder folder;
  std::string file =
      folder.write("one.jsonl", R"({"kind":"test_checks_nothing","id":"one","size":1,"result":2})");
  FalsifyResult result = falsify({.paths = {file}});
  EXPECT_FALSE(result.ok());
  ASSERT_EQ(result.let_through.size(), 1u);
  EXPECT_EQ(result.let_through[0].at, "/result");
  EXPECT_EQ(result.let_through[0].change, "another value");
  EXPECT_THAT(result.let_through[0].reproduce, HasSubstr("--id one --at /result"));
  EXPECT_THAT(to_text(result), HasSubstr("PASS test_checks_nothing one: /result: another value"));
  EXPECT_THAT(to_text(result), HasSubstr("/size: another value (1): another input"));
}

Schema shorter_schema() {
  using namespace schema;
  return object({expected("head", list(integer())).or_fewer("the rest isn't compared")});
}

const CaseKind may_be_shorter({.name = "test_may_be_shorter",
                               .summary = "nothing",
                               .schema = shorter_schema,
                               .verifier = [](const RecordedCase&, const VerifyOptions&,
                                              CaseReport&) {}});

// A reason to leave out an entry excuses nothing else.
TEST(Falsify, ExcusesAnEntryLess) {
  testing::TemporaryFolder folder;
  std::string file =
      folder.write("one.jsonl", R"({"kind":"test_may_be_shorter","id":"one","head":[1,2]})");
  std::string text = to_text(falsify({.paths = {file}}));
  EXPECT_THAT(text, HasSubstr("/head: an entry less (1): the rest isn't compared"));
  EXPECT_THAT(text, HasSubstr("PASS test_may_be_shorter one: /head: an entry twice"));
}

// The place narrows the changes to those that a reproducing command asks for.
TEST(Falsify, ChangesOnePlace) {
  FalsifyResult result = falsify({.paths = {own_case()}, .at = "/local/0/shape/0"});
  EXPECT_EQ(result.changes, 2);
  EXPECT_EQ(falsify({.paths = {own_case()}, .at = "/nowhere"}).changes, 0);
}

// The same request must give the same lines, whatever runs side by side.
TEST(Falsify, IsDeterministic) {
  FalsifyRequest request{.paths = {SIMMESH_SOURCE_DIR "/tests/cases/pytorch/formula.jsonl"},
                         .cases_per_kind = 4,
                         .sample = {.count = 10}};
  std::string text = to_text(falsify(request));
  request.jobs = 3;
  EXPECT_EQ(to_text(falsify(request)), text);
  EXPECT_EQ(to_json(falsify(request)).find("\"let_through\":[]") != std::string::npos, true);
}

TEST(Falsify, RefusesPathsThatAreNotThere) {
  testing::expect_error([] { falsify({.paths = {"none.jsonl"}}); }, ErrorKind::value_error,
                        "none.jsonl");
}

}  // namespace
}  // namespace simmesh
