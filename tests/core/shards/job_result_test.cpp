#include "core/shards/job_result.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

TEST(JobResult, OfAJobThatNobodyDidIsRefused) {
  ShardResults all{.jobs = 2, .results = {{0, JsonValue(3)}}};
  EXPECT_EQ(*result_of_job(all, 0).get<std::int64_t>(), 3);
  expect_error([&] { result_of_job(all, 1); }, ErrorKind::value_error,
               "expected a result of each of 2 jobs, got none of number 2");
}

// A value of another type must not be taken for one that is missing.
TEST(JobResult, MembersHaveOneType) {
  JsonValue result = JsonValue::object({{"name", "x"}, {"count", 3}, {"below", -1}});
  std::string name = "other", absent = "as before";
  std::size_t count = 0;
  read_member(result, "name", name);
  read_member(result, "absent", absent);
  read_member(result, "count", count);
  EXPECT_EQ(name + " " + absent, "x as before");
  EXPECT_EQ(count, 3u);
  expect_error([&] { read_member(result, "count", name); }, ErrorKind::value_error,
               "under 'count'");
  expect_error([&] { read_member(result, "below", count); }, ErrorKind::value_error,
               "under 'below'");
}

TEST(JobResult, ListsOfTextsHaveNothingElse) {
  JsonValue result = JsonValue::object({{"names", std::vector<std::string>{"a", "b"}},
                                        {"mixed", JsonValue::List{JsonValue("a"), JsonValue(1)}}});
  EXPECT_EQ(texts_of_member(result, "names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(texts_of_member(result, "absent").empty());
  expect_error([&] { texts_of_member(result, "mixed"); }, ErrorKind::value_error, "under 'mixed'");
}

}  // namespace
}  // namespace simmesh
