#include "pipeline/analysis/dry_run.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

// If this fails, steps and idle slots of a schedule differ from PyTorch's.
TEST(PipelineDryRun, TakesStepsOverAllRanks) {
  Rows rows = dry_run(
      rows_of({"0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2SEND_B0,0RECV_B0,0B0",
               "1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,3I0,3SEND_B0,1RECV_B0,3W0,1I0,1SEND_B0,1W0"}),
      StageMap({0, 1, 0, 1}), 4);
  EXPECT_EQ(
      texts_of(rows),
      (Texts{"0F0,0SEND_F0,,2RECV_F0,2F0,2SEND_F0,,,2RECV_B0,2B0,2SEND_B0,,,0RECV_B0,0B0",
             ",1RECV_F0,1F0,1SEND_F0,,3RECV_F0,3F0,3I0,3SEND_B0,,1RECV_B0,3W0,1I0,1SEND_B0,1W0"}));
  EXPECT_EQ(step_count(rows), 15);
}

// If this fails, a wait ends before the other rank has posted its receive.
TEST(PipelineDryRun, LetsAWaitNeedTheReceive) {
  Rows rows =
      dry_run(rows_of({"0F0,0SEND_F0,0WAIT_SEND_F0", ",1RECV_F0,1F0"}), StageMap({0, 1}), 2);
  EXPECT_EQ(texts_of(rows), (Texts{"0F0,0SEND_F0,0WAIT_SEND_F0", ",1RECV_F0,1F0"}));
  // The sender looks a second time, after rank 1 has received.
  Rows back = dry_run(rows_of({"0RECV_B0,0B0", "1B0,1SEND_B0,1WAIT_SEND_B0"}), StageMap({0, 1}), 2);
  EXPECT_EQ(texts_of(back), (Texts{",0RECV_B0,0B0", "1B0,1SEND_B0,1WAIT_SEND_B0"}));
}

// If this fails, a schedule that hangs is taken as one that runs.
TEST(PipelineDryRun, FindsDeadlocks) {
  StageMap map({0, 1});
  expect_error(
      [&] {
        dry_run(rows_of({"0RECV_B0,0F0", "1RECV_F0"}), map, 2);
      },
      ErrorKind::value_error, "not progressing");
  for (const char* row : {"0UNSHARD", "0REDUCE_GRAD", "(0F0;1B0)OVERLAP_F_B"})
    expect_error([&] { dry_run(rows_of({row}), map, 2); }, ErrorKind::value_error, "Unsupported");
}

}  // namespace
}  // namespace simmesh::pipeline
