#include "verify/verdict/verify_result.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/check/fold_hash.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

CaseResult held(const std::string& kind, std::uint64_t data) {
  return {.id = "h", .kind = kind, .data_hash = data};
}

CaseResult failed(const std::string& kind) {
  return {.id = "f", .kind = kind, .mismatches = {"m"}, .mismatch_count = 1, .reproduce = "r"};
}

// If this fails, the hash of the data of many cases is not that of their sequence.
TEST(VerifyResult, FoldsHashesInOrder) {
  VerifyResult result;
  FoldHash expected;
  EXPECT_FALSE(result.data_hash);
  for (std::uint64_t word : {7u, 0u, 7u}) {
    result.add(held("a", word));
    expected.fold(word);
  }
  result.add(failed("b"));
  EXPECT_EQ(result.data_hash, expected.value());
  EXPECT_FALSE(result.schedule_hash);
  EXPECT_EQ(to_text(result),
            "FAIL f: m\nreproduce: r\na: 3 passed, 0 failed\nb: 0 passed, 1 failed\n" +
                fmt::format("data hash {:016x}\n", expected.value()) + "3 passed, 1 failed\n");
}

ShardResults kept(const std::vector<CaseResult>& cases) {
  ShardResults all{.jobs = cases.size(), .about = JsonValue::object({{"disputed_left_out", 2}})};
  for (std::size_t i = 0; i < cases.size(); ++i) all.results.emplace(i, to_json(cases[i]));
  return all;
}

TEST(VerifyResult, IsThatOfOneRun) {
  ShardResults all = kept({held("a", 1), failed("a"), held("b", 2), failed("b")});
  EXPECT_EQ(united_result(all).total.failed, 2);
  EXPECT_EQ(united_result(all).disputed_left_out, 2);
  all.about.set("fail_fast", true);
  EXPECT_EQ(united_result(all).total.failed, 1);
  EXPECT_EQ(united_result(all).total.passed, 1);
}

// If this fails, cases that no shard ran count as held.
TEST(VerifyResult, RefusesMissingResults) {
  ShardResults all = kept({held("a", 1), held("a", 1)});
  all.results.erase(1);
  expect_error([&] { united_result(all); }, ErrorKind::value_error,
               "expected a result of each of 2 jobs, got none of number 2");
  all = kept({held("a", 1)});
  all.about = {};
  expect_error([&] { united_result(all); }, ErrorKind::value_error, "disputed cases left out");
}

}  // namespace
}  // namespace simmesh
