#include "testing/gtest.h"

#include <gtest/gtest-spi.h>

#include "collectives/collectives.h"
#include "core/engine/run/shared.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

SIMMESH_TEST(MeshFixture, AnAllReduceAddsTheOperands, {.mesh = {2, 4}, .schedules = 20}) {
  Tensor x = formula({16, 8}, {.rule = Rule::wide, .seed = 1});
  EXPECT_SAME_BITS(all_reduce(x, ReduceOp::max, process_group(mesh, 1)), x);
}

// A request with the given words, as if a test program had been started with them.
testing::TestRequest request_of(std::vector<std::string> words) {
  words.insert(words.begin(), "./my_test");
  return testing::TestRequest::of_words(words);
}

void fail_on_rank_one(const DeviceMesh& mesh) {
  if (mesh.get_rank() == 1) throw std::runtime_error("broken");
}

TEST(MeshFixture, AFailureCarriesTheCommandThatRunsItAgain) {
  EXPECT_FATAL_FAILURE(
      testing::run_mesh_test({.mesh = {2}}, fail_on_rank_one, CallSite::here(), request_of({})),
      "reproduce: ./my_test "
      "--gtest_filter=MeshFixture.AFailureCarriesTheCommandThatRunsItAgain --threads 1 --seed 1 "
      "--schedule fifo   # revision");
}

// Also for this process, whose command line the system knows.
TEST(MeshFixture, TheCommandBeginsWithTheProgram) {
  EXPECT_FATAL_FAILURE(testing::run_mesh_test({.mesh = {2}}, fail_on_rank_one),
                       "testing_test --gtest_filter=MeshFixture.TheCommandBeginsWithTheProgram ");
}

TEST(MeshFixture, AFailureIsPlacedInTheTest) {
  ::testing::TestPartResultArray results;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    testing::run_mesh_test({.mesh = {2}}, fail_on_rank_one, {"somewhere.cpp", 12});
  }
  ASSERT_EQ(results.size(), 1);
  EXPECT_STREQ(results.GetTestPartResult(0).file_name(), "somewhere.cpp");
  EXPECT_EQ(results.GetTestPartResult(0).line_number(), 12);
}

// The words of the command line choose the runs.
TEST(MeshFixture, ARequestRunsItsScheduleAlone) {
  std::vector<WorldOptions> runs;
  auto note = [&](const DeviceMesh& mesh) {
    if (mesh.get_rank() == 0) runs.push_back(this_rank().world().options());
  };
  testing::run_mesh_test({.mesh = {2}}, note, CallSite::here(),
                         request_of({"--schedule", "seeded:5", "--seed", "9", "--threads", "2"}));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].schedule.name(), "seeded:5");
  EXPECT_EQ(runs[0].seed, 9u);
  EXPECT_EQ(runs[0].threads, 2u);
  EXPECT_EQ(runs[0].timeout_seconds, 60.0);
  EXPECT_TRUE(runs[0].poison);
  testing::run_mesh_test({.mesh = {2}, .schedules = 3}, note, CallSite::here(),
                         request_of({"--timeout", "5"}));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[3].timeout_seconds, 5.0);
}

// A body that depends on the schedule fails, because schedules are compared.
void record_order(const DeviceMesh&) {
  static Shared<int> order("order", 0);
  this_rank().record(std::uint64_t(order.use([](int& value) { return value++ % 3; })));
}

TEST(MeshFixture, AResultThatDependsOnTheScheduleIsFound) {
  EXPECT_FATAL_FAILURE(testing::run_mesh_test({.mesh = {3}, .schedules = 20}, record_order),
                       "two schedules give different data");
}

// Both schedules are needed to see such a failure again.
TEST(MeshFixture, TheCommandOfADifferenceNamesBothSchedules) {
  EXPECT_FATAL_FAILURE(
      testing::run_mesh_test({.mesh = {3}, .schedules = 20}, record_order, CallSite::here(),
                             request_of({"--schedule=fifo", "--schedule=seeded:13"})),
      "--threads 2 --schedule fifo --seed 1 --schedule seeded:13   # revision");
}

class OverSizes : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, OverSizes, ::testing::Values(1, 2, 3));

SIMMESH_TEST_P(OverSizes, TheParameterIsSeenByOptionsAndBody, {.mesh = {GetParam()}}) {
  Tensor one = full({1}, DType::int64, 1);
  Tensor sum = all_reduce(one, ReduceOp::sum, process_group(mesh));
  EXPECT_SAME_BITS(sum, full({1}, DType::int64, double(GetParam())));
}

}  // namespace
}  // namespace simmesh
