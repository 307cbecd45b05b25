#include "pipeline/analysis/single_run.h"

#include <gtest/gtest.h>

#include "core/check/join_text.h"
#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

std::string run_text(const SingleRun& run, std::int64_t stage) {
  std::vector<std::string> texts;
  for (const RunEvent& event : run_single_stage(run, stage)) texts.push_back(to_string(event));
  return join_text(texts, ", ");
}

// If this fails, messages are posted or waited for in another order than PyTorch's step function.
TEST(PipelineSingleRun, OfGPipeIsTheRecordedOne) {
  EXPECT_EQ(run_text({ScheduleClass::gpipe, 2, 2, true, false}, 0),
            "0F0, post 0SEND_F0, 0F1, post 0SEND_F1, wait 0SEND_F0, release 0, wait 0SEND_F1, "
            "release 1, post 0RECV_B0, wait 0RECV_B0, 0B0, post 0RECV_B1, wait 0RECV_B1, 0B1 last, "
            "divide 1");
  EXPECT_EQ(run_text({ScheduleClass::gpipe, 2, 2, false, true}, 1),
            "post 1RECV_F0, wait 1RECV_F0, 1F0, post 1RECV_F1, wait 1RECV_F1, 1F1, divide 2");
}

TEST(PipelineSingleRun, Of1F1BIsTheRecordedOne) {
  EXPECT_EQ(
      run_text({ScheduleClass::one_f_one_b, 3, 4, true, false}, 1),
      "post 1RECV_F0, wait 1RECV_F0, 1F0, post 1SEND_F0, post 1RECV_F1, wait 1RECV_F1, 1F1, wait "
      "1SEND_F0, release 0, post 1SEND_F1+1RECV_B0, wait 1SEND_F1+1RECV_B0, release 1, 1B0, post "
      "1SEND_B0+1RECV_F2, wait 1SEND_B0+1RECV_F2, 1F2, post 1SEND_F2+1RECV_B1, wait "
      "1SEND_F2+1RECV_B1, release 2, 1B1, post 1SEND_B1+1RECV_F3, wait 1SEND_B1+1RECV_F3, 1F3, "
      "post 1SEND_F3+1RECV_B2, wait 1SEND_F3+1RECV_B2, release 3, 1B2, post 1SEND_B2, post "
      "1RECV_B3, wait 1RECV_B3, 1B3 last, wait 1SEND_B2, post 1SEND_B3, wait 1SEND_B3, divide 1");
  EXPECT_EQ(run_text({ScheduleClass::one_f_one_b, 1, 2, true, true}, 0),
            "0F0, loss, 0B0, 0F1, loss, 0B1 last, divide 2");
}

// If this fails, a schedule without backward computes one, or a loss.
TEST(PipelineSingleRun, OfForwardOnlyHasNoLoss) {
  EXPECT_EQ(run_text({ScheduleClass::forward_only, 2, 1, false, true}, 0),
            "0F0, post 0SEND_F0, wait 0SEND_F0, release 0");
  expect_error(
      [] {
        run_text({ScheduleClass::forward_only, 2, 1, true, true}, 0);
      },
      ErrorKind::runtime_error, "does not support loss");
  expect_error(
      [] {
        run_text({ScheduleClass::looped_bfs, 2, 1}, 0);
      },
      ErrorKind::value_error, "one stage a rank");
  expect_error(
      [] {
        run_text({ScheduleClass::one_f_one_b, 2, 1}, 0);
      },
      ErrorKind::value_error, "number of stages");
}

}  // namespace
}  // namespace simmesh::pipeline
