#include "pipeline/lowering/send_budget.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

const Rows two_forwards =
    rows_of({"0F0,0SEND_F0,0F1,0SEND_F1,0WAIT_SEND_F0,0WAIT_SEND_F1", "1RECV_F0,1F0,1RECV_F1,1F1"});

// If this fails, more sends are under way than are allowed, or waits come too early.
TEST(PipelineSendBudget, MovesAWaitBeforeTheSendThatIsTooMuch) {
  StageMap map({0, 1});
  EXPECT_EQ(texts_of(limit_sends(two_forwards, map, 1))[0],
            "0F0,0SEND_F0,0F1,0WAIT_SEND_F0,0SEND_F1,0WAIT_SEND_F1");
  EXPECT_EQ(limit_sends(two_forwards, map, 2), two_forwards);
  expect_error([&] { limit_sends(two_forwards, map, 0); }, ErrorKind::value_error,
               "Cannot satisfy max_outstanding_sends=0 on pipeline rank 0 before 0SEND_F0");
}

// If this fails, a wait is moved to where the other rank waits for this one.
TEST(PipelineSendBudget, NeverMakesACycle) {
  StageMap map({0, 1});
  // Rank 1 posts its receives only after the second send.
  Rows late = rows_of({"0SEND_F0,0SEND_F1,0WAIT_SEND_F0,0WAIT_SEND_F1", "1RECV_F1,1RECV_F0"});
  expect_error([&] { limit_sends(late, map, 1); }, ErrorKind::value_error,
               "Outstanding: [0SEND_F0]");
  // The oldest send may stall, the next one can't.
  Rows choice =
      rows_of({"0SEND_F0,0SEND_F1,0RECV_B9,0SEND_F2,0WAIT_SEND_F0,0WAIT_SEND_F1,"
               "0WAIT_SEND_F2",
               "1RECV_F1,1SEND_B9,1RECV_F0,1RECV_F2,1WAIT_SEND_B9"});
  EXPECT_EQ(texts_of(limit_sends(choice, map, 2))[0],
            "0SEND_F0,0SEND_F1,0RECV_B9,0WAIT_SEND_F1,0SEND_F2,0WAIT_SEND_F0,0WAIT_SEND_F2");
}

// If this fails, rows that can't run are taken.
TEST(PipelineSendBudget, RefusesRowsThatCantRun) {
  StageMap map({0, 1});
  expect_error(
      [&] {
        limit_sends(rows_of({"0SEND_F0,0WAIT_SEND_F0", "1F0"}), map, 1);
      },
      ErrorKind::value_error, "0SEND_F0 has no matching receive");
  expect_error(
      [&] {
        limit_sends(rows_of({"0SEND_F0", "1RECV_F0"}), map, 1);
      },
      ErrorKind::value_error, "no matching wait");
  expect_error(
      [&] {
        limit_sends(rows_of({"0SEND_F0,0WAIT_SEND_F0,0SEND_F1,0WAIT_SEND_F1", "1RECV_F1,1RECV_F0"}),
                    map, 2);
      },
      ErrorKind::value_error, "form a cycle");
}

}  // namespace
}  // namespace simmesh::pipeline
