#include "pipeline/lowering/validate.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;

constexpr ScheduleSize size_of_rows{2, 2, 2};

// If this fails, rows that leave out work, or do it out of order, are run.
TEST(PipelineValidate, CountsTheWorkOfEachStage) {
  EXPECT_EQ(validate_rows(rows_of({"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}), size_of_rows).ranks(2),
            (std::vector<std::int64_t>{0, 1}));
  auto refused = [](std::initializer_list<const char*> rows, const char* phrase) {
    expect_error([&] { validate_rows(rows_of(rows), size_of_rows); }, ErrorKind::assertion_error,
                 phrase);
  };
  refused({"0F0"}, "incorrect number of ranks - expected 2, actual 1");
  refused({"0B0", ""}, "Rank 0, step 0: Running B for stage 0, microbatch 0 without first running");
  refused({",0F0,0W0", ""}, "Rank 0, step 2: Running W for stage 0, microbatch 0 without first");
  refused({"0F0", "0F1"}, "Stage 0 is assigned to both rank 1 and rank 0");
  refused({"0F0,0B0", "1F0,1F1,1B0,1B1"}, "Got 1 forward microbatches for stage 0, expected 2");
  refused({"0F0,0F1,0I0,0B1", "1F0"}, "I and W must have equal counts, but got I=1, W=0");
  refused({"0F0,0F1,0B0", "1F0,1F1,1B0,1B1"}, "expected 2 total backwards, but got B=1");
  expect_error(
      [] {
        validate_rows(rows_of({"7F0", ""}), size_of_rows);
      },
      ErrorKind::key_error, "7");
}

}  // namespace
}  // namespace simmesh::pipeline
