#include <gtest/gtest.h>

#include "pipeline/lowering/defer_recv.h"
#include "pipeline/lowering/merge_bw.h"
#include "pipeline/lowering/messages.h"
#include "pipeline/lowering/reduce_grad.h"
#include "pipeline/lowering/send_recv.h"
#include "pipeline/lowering/unshard.h"
#include "pipeline/lowering/wait_send.h"
#include "tests/expect_error.h"
#include "tests/pipeline/rows_of.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;
using simmesh::testing::rows_of;
using simmesh::testing::Texts;
using simmesh::testing::texts_of;

std::string unsharded(const char* row, UnshardWindow window) {
  return to_string(add_unshard(parse_row(row), window));
}

// If this fails, FSDP gathers a stage too late, or holds more stages than are allowed.
TEST(PipelineUnshard, GathersWhatComesNext) {
  const char* row = "0F0,,1F0,2F0,2B0,1B0,0B0";
  EXPECT_EQ(unsharded(row, {3, 3}),
            "0UNSHARD,1UNSHARD,2UNSHARD,0F0,1F0,2F0,2B0,2RESHARD,1B0,1RESHARD,0B0,0RESHARD");
  EXPECT_EQ(unsharded(row, {1, 1}),
            "0UNSHARD,0F0,0RESHARD,1UNSHARD,1F0,1RESHARD,2UNSHARD,2F0,2B0,2RESHARD,1UNSHARD,1B0,"
            "1RESHARD,0UNSHARD,0B0,0RESHARD");
  EXPECT_EQ(unsharded("0F0,1F0,1B0,0B0", {2, 1}),
            "0UNSHARD,0F0,1UNSHARD,1F0,1B0,1RESHARD,0B0,0RESHARD");
  EXPECT_EQ(unsharded("0F0,(1F0;0B0)OVERLAP_F_B,1B0", {2, 1}),
            "0UNSHARD,0F0,1UNSHARD,(1F0;0B0)OVERLAP_F_B,0RESHARD,1B0,1RESHARD");
  expect_error(
      [] {
        unsharded("(1F0;0B0)OVERLAP_F_B", {1, 1});
      },
      ErrorKind::value_error, "requires 2 stages, exceeding max_active_stages=1");
}

// If this fails, an option is taken in another sense than PyTorch's.
TEST(PipelineUnshard, ReadsItsOptions) {
  EXPECT_EQ(unshard_windows("auto", 3, 3)[0].lookahead, 2);
  EXPECT_EQ(unshard_windows("auto", 3, 3)[2].lookahead, 3);
  EXPECT_EQ(unshard_windows("full", 4, 1)[0].lookahead, 4);
  EXPECT_EQ(unshard_windows(std::vector<std::int64_t>{2, 1}, 3, 2)[1].lookahead, 1);
  auto refused = [](const UnshardLookahead& lookahead, std::int64_t active, const char* phrase) {
    expect_error([&] { unshard_windows(lookahead, active, 2); }, ErrorKind::value_error, phrase);
  };
  refused("full", 0, "max_active_stages must be a positive integer");
  refused("none", 3, "must be 'full', 'auto', or a tuple of 2 integers, got 'none'");
  refused(std::vector<std::int64_t>{1}, 3, "length must equal the pipeline degree (2), got 1");
  refused(std::vector<std::int64_t>{1, 4}, 3, "unshard_lookahead[1] must be an integer within");
}

// If this fails, gradients are reduced before they are complete, or two reductions run at once.
TEST(PipelineReduceGrad, ComesAfterTheLastBackward) {
  Row row = parse_row("0F0,,0B0,(1F0;0B1)OVERLAP_F_B,1I0,1W0,1B1");
  EXPECT_EQ(to_string(add_reduce_grad(row, 2)),
            "0F0,0B0,(1F0;0B1)OVERLAP_F_B,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,1I0,1W0,1B1,1REDUCE_GRAD,"
            "1WAIT_REDUCE_GRAD");
  EXPECT_EQ(to_string(add_reduce_grad(row, 2, true)),
            "0F0,0B0,(1F0;0B1)OVERLAP_F_B,0REDUCE_GRAD,1I0,1W0,1B1,0WAIT_REDUCE_GRAD,1REDUCE_GRAD,"
            "1WAIT_REDUCE_GRAD");
  validate_reductions(add_reduce_grad(row, 2, true), 0);
  auto refused = [](const char* text, const char* phrase) {
    expect_error([&] { validate_reductions(parse_row(text), 3); }, ErrorKind::value_error, phrase);
  };
  refused("0REDUCE_GRAD,1REDUCE_GRAD", "while stage 0 has a pending");
  refused("0WAIT_REDUCE_GRAD", "without a pending reduction");
  refused("0REDUCE_GRAD,1WAIT_REDUCE_GRAD", "but stage 0 has the pending");
  refused("0REDUCE_GRAD", "Stage 0 at rank 3 has REDUCE_GRAD without WAIT_REDUCE_GRAD");
}

// If this fails, two backwards of different micro-batches become one.
TEST(PipelineMergeBw, MergesNeighboursOnly) {
  EXPECT_EQ(to_string(merge_bw(parse_row("0F0,0I0,,0W0,0I1,1W1,0W1,0W2"))),
            "0F0,0B0,0I1,1W1,0W1,0W2");
}

// If this fails, a message goes to the wrong rank.
TEST(PipelineMessages, KnowTheirPeers) {
  StageMap map({0, 1, 1, 0});
  EXPECT_EQ(to_string(receive_of(Action::parse("1SEND_F2").key())), "2RECV_F2");
  EXPECT_EQ(to_string(receive_of(Action::parse("1SEND_B2").key())), "0RECV_B2");
  EXPECT_EQ(message_peer(Action::parse("2SEND_F0").key(), map), 0);
  EXPECT_EQ(message_peer(Action::parse("3RECV_F0").key(), map), 1);
  EXPECT_EQ(to_string(*send_after(Action::parse("0F3"), map, 4)), "0SEND_F3");
  EXPECT_FALSE(send_after(Action::parse("1F3"), map, 4));
  EXPECT_FALSE(send_after(Action::parse("3F3"), map, 4));
  EXPECT_FALSE(send_after(Action::parse("0B3"), map, 4));
  EXPECT_EQ(to_string(*send_after(Action::parse("3I3"), map, 4)), "3SEND_B3");
}

// If this fails, swapped messages of one shape would go unseen.
TEST(PipelineMessages, TellWhetherTheirOrderIsKept) {
  StageMap map({0, 1});
  EXPECT_TRUE(keeps_message_order(rows_of({"0SEND_F0,0SEND_F1", "1RECV_F0,1RECV_F1"}), map));
  EXPECT_FALSE(keeps_message_order(rows_of({"0SEND_F0,0SEND_F1", "1RECV_F1,1RECV_F0"}), map));
  EXPECT_FALSE(keeps_message_order(rows_of({"0SEND_F0", ""}), map));
}

// If this fails, ranks send in another order than PyTorch's, or wait for each other for ever.
TEST(PipelineSendRecv, PostsReceivesWhenTheSenderSends) {
  Rows rows = add_send_recv(rows_of({"0F0,0F1,,0B0,0B1", "1F0,1B0,1F1,1B1"}), StageMap({0, 1}), 2);
  EXPECT_EQ(texts_of(rows), (Texts{"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1",
                                   "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1"}));
  EXPECT_TRUE(keeps_message_order(rows, StageMap({0, 1})));
  Rows v =
      add_send_recv(rows_of({"0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,1F1,1B1,0B1"}), StageMap({0, 0}), 2);
  EXPECT_EQ(texts_of(v)[0], "0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,1F1,1B1,0B1");
  expect_error(
      [] {
        add_send_recv(rows_of({"0B0,0F0", "1F0,1B0"}), StageMap({0, 1}), 2);
      },
      ErrorKind::assertion_error, "Malformed compute schedule");
  expect_error(
      [] {
        add_send_recv(rows_of({"0F0", ""}), StageMap({0, 1}), 2);
      },
      ErrorKind::assertion_error, "actions of rank 1");
}

// If this fails, a buffer is used again before its message has arrived, or never.
TEST(PipelineWaitSend, FollowsTheBackwardOrEndsTheRow) {
  Rows rows = rows_of({"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0SEND_B0,0SEND_B1"});
  EXPECT_EQ(texts_of(add_wait_send(rows))[0],
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0WAIT_SEND_F0,0SEND_B0,0SEND_B1,0WAIT_SEND_F1,"
            "0WAIT_SEND_B0,0WAIT_SEND_B1");
  validate_send_waits(add_wait_send(rows));
  expect_error([] { add_wait_send(rows_of({"0SEND_F0,0SEND_F0"})); }, ErrorKind::assertion_error,
               "Duplicate pipeline send 0SEND_F0");
  expect_error([] { add_wait_send(rows_of({"0SEND_F"})); }, ErrorKind::assertion_error,
               "no microbatch index");
  expect_error([] { add_wait_send(rows_of({"0B"})); }, ErrorKind::assertion_error,
               "no microbatch index");
}

// If this fails, a schedule from a file may leave a send without its wait.
TEST(PipelineWaitSend, MustMatchEachSendOnce) {
  auto refused = [](const char* text, const char* phrase) {
    expect_error([&] { validate_send_waits(rows_of({"", text})); }, ErrorKind::value_error, phrase);
  };
  refused("0SEND_F0,0WAIT_SEND_F0,0SEND_F0,0WAIT_SEND_F0", "Duplicate pipeline send");
  refused("0WAIT_SEND_F0,0SEND_F0", "Pipeline wait 0WAIT_SEND_F0 at rank 1 has no pending send");
  refused("0SEND_F0,0SEND_B0", "no matching wait: 0SEND_F0, 0SEND_B0");
  refused("0SEND_F", "Send action 0SEND_F at rank 1 has no microbatch index");
  refused("0WAIT_SEND_F", "Wait action 0WAIT_SEND_F at rank 1 has no microbatch index");
}

// If this fails, a receive comes later than its use, or two ranks wait for each other's receive.
TEST(PipelineDeferRecv, PostsReceivesBeforeTheirUse) {
  StageMap map({0, 1});
  Rows rows = rows_of({"0RECV_B0,0RECV_B1,0F2,0SEND_F2,0B0,0B1",
                       "1RECV_F0,1RECV_F1,1W9,1SEND_B9,"
                       "1F1,1F0"});
  EXPECT_EQ(texts_of(defer_recv(rows, map)), (Texts{"0F2,0RECV_B0,0RECV_B1,0SEND_F2,0B0,0B1",
                                                    "1W9,1SEND_B9,1RECV_F1,1F1,1RECV_F0,1F0"}));
  expect_error(
      [&] {
        defer_recv(rows_of({"0RECV_B0", ""}), map);
      },
      ErrorKind::assertion_error, "leftover RECV ops with no consumer found: 0RECV_B0");
}

}  // namespace
}  // namespace simmesh::pipeline
