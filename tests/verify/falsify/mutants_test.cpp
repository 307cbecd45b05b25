#include <gmock/gmock.h>
#include <set>

#include "verify/case_files.h"
#include "verify/case_kind.h"
#include "verify/falsify/falsify.h"

// A case with one mistake in it must not pass, wherever it is: a verifier lets through what it
// doesn't check.
namespace simmesh {
namespace {

std::vector<std::string> case_paths() { return {SIMMESH_SOURCE_DIR "/tests/cases"}; }

std::string let_through(const FalsifyResult& result) {
  return to_text(result).substr(0, result.ok() ? 0 : 20'000);
}

// A kind without a recorded case is never tried.
TEST(Mutants, EachKindHasCases) {
  std::set<std::string> kinds;
  for (const RecordedCase& recorded :
       load_cases(case_paths(), [](const RecordedCase&) { return true; }).cases)
    kinds.insert(recorded.kind());
  for (const CaseKind* kind : CaseKind::all())
    if (!kind->name().starts_with("test_")) {
      EXPECT_EQ(kinds.count(std::string(kind->name())), 1u) << kind->name();
    }
}

// A few changes of a few cases of each kind; traces that take seconds to read are left to
// `./dev nightly`.
TEST(Mutants, DoNotPassWithAMistake) {
  FalsifyRequest request{.paths = case_paths(), .cases_per_kind = 3, .sample = {.count = 40}};
  request.filter.excluded_kinds = {"memory_replay", "trace_summary", "comm_list",
                                   "label_list",    "skew",          "bandwidth"};
  FalsifyResult result = falsify(request);
  EXPECT_TRUE(result.ok()) << let_through(result);
  EXPECT_GT(result.failed, 1000);
  EXPECT_GT(result.refused, 500);
  EXPECT_EQ(result.skipped, 0);
}

// Each field of every case, changed in each way; `./dev test --long` runs it.
TEST(Mutants, DISABLED_NoCaseOfAllPassesWithAMistake) {
  FalsifyResult result = falsify({.paths = case_paths(), .sample = {.per_field = 1}, .jobs = 2});
  EXPECT_TRUE(result.ok()) << let_through(result);
}

}  // namespace
}  // namespace simmesh
