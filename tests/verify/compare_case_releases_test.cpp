#include "verify/compare_case_releases.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TemporaryFolder;

const std::string recorded = SIMMESH_SOURCE_DIR "/tests/cases/fsdp_2_15";

// The mesh has one rank, so a case holds if the coordinate is 0.
std::string mesh_case(const std::string& id, int coordinate) {
  return R"({"kind":"mesh","id":")" + id +
         R"(","source":"pytorch 2.13.0","mesh":{"shape":[1]},"how":"init","world":1,"ops":[],)" +
         R"("result":{"shape":[1],"names":null,"ranks":[{"coordinate":[)" +
         std::to_string(coordinate) + R"(],"mesh":[0],"groups":[[0]],"local_rank":[0]}]}})" + "\n";
}

// Gradients of bfloat16 computations are reduced in bfloat16 under 2.13, and in float32 since 2.15.
TEST(CompareCaseReleases, FindsTheCasesThatAnUpgradeChanges) {
  ReleaseComparison found = compare_case_releases({.path = recorded});
  const ReleaseDifference* narrow = nullptr;
  for (const ReleaseDifference& difference : found.differences)
    if (difference.what == "case events_public/param_bf16_only") narrow = &difference;
  ASSERT_TRUE(narrow);
  EXPECT_THAT(narrow->values[0],
              HasSubstr("expected (reduce_scatter, layers.2, 58, 29, 2, float32, avg), got "
                        "(reduce_scatter, layers.2, 58, 29, 2, bfloat16, avg)"));
  EXPECT_EQ(narrow->values[1], "pass");
  std::string text = to_text(gsl::span<const ReleaseComparison>(&found, 1));
  EXPECT_THAT(text, StartsWith("cases " + recorded + "\n  case "));
  EXPECT_THAT(text, HasSubstr("  case events_public/param_bf16_only\n    2.13: FAIL: rank 0: step "
                              "1 (backward): event 14: expected"));
  EXPECT_THAT(text, HasSubstr("\n    2.15: pass\n"));
}

// A case that fails under every release is no difference, but must not count as one that holds.
TEST(CompareCaseReleases, CountsWhatIsTheSame) {
  TemporaryFolder folder;
  std::string file = folder.write("c.jsonl", mesh_case("a", 0) + mesh_case("b", 1));
  ReleaseComparison found = compare_case_releases({.path = file});
  EXPECT_THAT(found.differences, IsEmpty());
  EXPECT_THAT(found.same, ElementsAre("1 passed", "1 failed"));
}

TEST(CompareCaseReleases, DoesNotDependOnTheNumberOfJobs) {
  ReleaseComparison one = compare_case_releases({.path = recorded});
  ReleaseComparison four = compare_case_releases({.path = recorded, .jobs = 4});
  EXPECT_EQ(to_json(gsl::span<const ReleaseComparison>(&one, 1)),
            to_json(gsl::span<const ReleaseComparison>(&four, 1)));
}

TEST(CompareCaseReleases, TellsCasesFromGates) {
  TemporaryFolder folder;
  EXPECT_TRUE(is_case_path("cases.jsonl"));
  EXPECT_TRUE(is_case_path("case.json"));
  EXPECT_TRUE(is_case_path(folder.path().string()));
  EXPECT_FALSE(is_case_path("gate.toml"));
  expect_error([] { compare_case_releases({.path = "none.jsonl"}); }, ErrorKind::value_error,
               "none.jsonl");
}

}  // namespace
}  // namespace simmesh
