#include "pipeline/schedule/action.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

// If this fails, a schedule from a file means something else than in PyTorch.
TEST(PipelineAction, ReadsAndPrintsEachKind) {
  for (const char* text :
       {"0F0", "12B7", "3I1", "3W1", "1UNSHARD", "1RESHARD", "2SEND_F3", "2RECV_F3", "2SEND_B3",
        "2RECV_B3", "2WAIT_SEND_F3", "2WAIT_SEND_B3", "0REDUCE_GRAD", "0WAIT_REDUCE_GRAD", "0B",
        "(2F1;1B0)OVERLAP_F_B", "(0F0)OVERLAP_F_B", "(0F1;1W0)B"})
    EXPECT_EQ(to_string(Action::parse(text)), text);
  Action send = Action::parse("2SEND_F3");
  EXPECT_EQ(send.stage, 2);
  EXPECT_EQ(send.kind, ActionKind::send_f);
  EXPECT_EQ(send.microbatch, 3);
}

// If this fails, blanks, leading zeros or text behind an action change what it means.
TEST(PipelineAction, TakesTheLongestMatchAtTheStart) {
  EXPECT_EQ(to_string(Action::parse("  01F002 ")), "1F2");
  EXPECT_EQ(to_string(Action::parse("0F0junk")), "0F0");
  EXPECT_EQ(to_string(Action::parse("0FORWARD")), "0F");
  EXPECT_EQ(to_string(Action::parse("(;3B2)OVERLAP_F_B")), "(3B2)OVERLAP_F_B");
  EXPECT_EQ(to_string(Action::parse("()OVERLAP_F_B")), "-1OVERLAP_F_B");
  EXPECT_TRUE(Action::parse(" \t").is_idle());
}

// If this fails, a text that is no action is taken as one.
TEST(PipelineAction, RefusesOtherTexts) {
  for (const char* text : {"F0", "0", "-1F0", "0 F0", "0f0", "0SEND0", "0OVERLAP_F_B", "(0F0",
                           "((0F0;1B1)OVERLAP_F_B;2F0)OVERLAP_F_B", "99999999999999999999F0"})
    expect_error([&] { Action::parse(text); }, ErrorKind::runtime_error, "Invalid action string");
  expect_error([] { Action::parse("(0F0;1B1)"); }, ErrorKind::runtime_error,
               "Invalid computation type");
  expect_error([] { Action::parse("(0F0)OVERLAP"); }, ErrorKind::runtime_error, "OVERLAP");
}

// If this fails, a pass treats a message as work, or waits for another send.
TEST(PipelineAction, TellsKindsApart) {
  EXPECT_TRUE(is_compute(Action::parse("0W0").kind));
  EXPECT_TRUE(is_compute(Action::parse("(0F0;1B0)OVERLAP_F_B").kind));
  EXPECT_FALSE(is_compute(ActionKind::unshard) || is_compute(ActionKind::idle));
  EXPECT_TRUE(is_backward(ActionKind::backward_input) && !is_backward(ActionKind::backward_weight));
  EXPECT_TRUE(is_recv(ActionKind::recv_b) && !is_recv(ActionKind::send_b));
  EXPECT_EQ(wait_of(ActionKind::send_b), ActionKind::wait_send_b);
  EXPECT_EQ(send_of(ActionKind::wait_send_f), ActionKind::send_f);
  Action both = compound({Action::parse("0F1"), Action::parse("1B0")});
  EXPECT_EQ(both.leaves().size(), 2u);
  EXPECT_EQ(both.parts[0].leaves().size(), 1u);
}

}  // namespace
}  // namespace simmesh::pipeline
