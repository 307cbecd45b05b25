#include "replay/run/replay_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

using ::testing::ElementsAre;

std::vector<samples::HandTensor> program_tensor(std::int64_t elements = 4) {
  return {{.storage = elements, .elements = elements}};
}

samples::HandComm asked(const std::string& name, std::int64_t request,
                        std::optional<bool> is_asynchronous = {}) {
  return {.name = name,
          .request = request,
          .inputs = program_tensor(),
          .outputs = program_tensor(),
          .is_asynchronous = is_asynchronous};
}

samples::HandComm wait_for(std::int64_t request, std::optional<std::uint32_t> group = {}) {
  return {.name = "wait", .request = request, .group = group};
}

// Would fail if any fact of section 1.1 of the real job were read wrongly.
TEST(MakeProgram, DlrmAsItIsRecorded) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  ASSERT_EQ(program.ranks.size(), 8u);
  EXPECT_TRUE(program.warnings.empty());
  const std::int64_t sent[] = {96, 224, 288, 1664, 592, 96, 192, 240};
  for (const RankProgram& rank : program.ranks) {
    EXPECT_EQ(rank.operators, 637u);
    EXPECT_EQ(rank.communications, 8u);
    EXPECT_EQ(rank.dangling_waits, 2u);
    EXPECT_EQ(rank.never_waited_for, 0u);
    std::vector<const ProgramStep*> comms;
    std::vector<bool> is_asynchronous;
    for (const ProgramStep& step : rank.steps) {
      if (step.kind != ProgramStep::Kind::communicate) continue;
      comms.push_back(&step);
      is_asynchronous.push_back(step.is_asynchronous);
    }
    EXPECT_THAT(is_asynchronous, ElementsAre(true, true, false, false, false, true, false, false));
    EXPECT_THAT(rank.numbers_in(comms[1]->in_split), ::testing::Each(3));
    EXPECT_THAT(rank.numbers_in(comms[3]->in_split), ::testing::ElementsAreArray(sent));
    EXPECT_THAT(rank.numbers_in(comms[3]->out_split), ::testing::Each(sent[rank.rank]));
    EXPECT_EQ(rank.tensors_in(comms[4]->inputs)[0].elements, 394241);
  }
}

// Would fail if the flag of new traces, or the rule for old ones, were not followed.
TEST(MakeProgram, AsynchronousByFlagOrByALaterWait) {
  samples::HandJob job(1);
  job.comm(0, wait_for(3));                   // before the communication that it names: dangling
  job.comm(0, asked("allreduce", 1));         // waited for
  job.comm(0, asked("allreduce", 2));         // nobody waits
  job.comm(0, asked("allreduce", 3));         // only an earlier wait
  job.comm(0, asked("allreduce", 4, false));  // says no, though there is a wait
  job.comm(0, asked("allreduce", 5, true));   // says yes, though there is none
  job.comm(0, wait_for(1));
  job.comm(0, wait_for(4));
  job.comm(0, wait_for(9));
  RankProgram rank = std::move(job.program().ranks[0]);
  std::vector<bool> is_asynchronous;
  std::vector<std::uint32_t> waited;
  for (const ProgramStep& step : rank.steps) {
    if (step.kind == ProgramStep::Kind::communicate)
      is_asynchronous.push_back(step.is_asynchronous);
    for (std::uint32_t begun : rank.indices_in(step.waits)) waited.push_back(begun);
  }
  EXPECT_THAT(is_asynchronous, ElementsAre(true, false, false, false, true));
  EXPECT_THAT(waited, ElementsAre(0));
  EXPECT_EQ(rank.dangling_waits, 2u);
  EXPECT_EQ(rank.never_waited_for, 1u);
}

// Would fail if a wait ended a communication of another group with the same request.
TEST(MakeProgram, WaitsNameRequestAndGroup) {
  samples::HandJob job(2, {{0, 1}});
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    samples::HandComm in_other = asked("allreduce", 1);
    in_other.group = 1;
    job.comm(rank, asked("allreduce", 1));
    job.comm(rank, in_other);
    job.comm(rank, wait_for(1, 1));
    job.comm(rank, wait_for(1));
  }
  RankProgram rank = std::move(job.program().ranks[0]);
  ASSERT_EQ(rank.steps.size(), 4u);
  EXPECT_THAT(rank.indices_in(rank.steps[2].waits), ElementsAre(1));
  EXPECT_THAT(rank.indices_in(rank.steps[3].waits), ElementsAre(0));
}

// Would fail if receives of a batch blocked one another.
TEST(MakeProgram, MessagesOfOneRequestAreABatch) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    for (const char* name : {"recv", "send"}) {
      samples::HandComm message = asked(name, 5);
      message.rank = 1 - rank;
      message.is_point_to_point = true;
      job.comm(rank, message);
    }
    samples::HandComm alone = asked("send", 6);
    alone.rank = 1 - rank;
    job.comm(rank, alone);
    alone.name = "recv";
    alone.request = 7;
    job.comm(rank, alone);
  }
  RankProgram rank = std::move(job.program().ranks[0]);
  ASSERT_EQ(rank.steps.size(), 5u);
  EXPECT_TRUE(rank.steps[0].is_asynchronous);
  EXPECT_EQ(rank.steps[2].kind, ProgramStep::Kind::wait);
  EXPECT_THAT(rank.indices_in(rank.steps[2].waits), ElementsAre(0));
  EXPECT_FALSE(rank.steps[4].is_asynchronous);
  EXPECT_EQ(rank.never_waited_for, 0u);
}

// Would fail if splits of rows weren't turned into elements, or complex elements not counted twice.
TEST(MakeProgram, SplitsCountElements) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    std::vector<samples::HandTensor> complex = {
        {.storage = 1, .elements = 6, .type = "c10::complex<float>", .item_bytes = 8}};
    job.comm(rank, {.name = "all_to_allv",
                    .inputs = complex,
                    .outputs = complex,
                    .in_split = rank == 0 ? std::vector<std::int64_t>{2, 4}
                                          : std::vector<std::int64_t>{4, 2},
                    .out_split = rank == 0 ? std::vector<std::int64_t>{2, 4}
                                           : std::vector<std::int64_t>{4, 2}});
  }
  // The same as a matrix of 3 rows of two, of which 1 and 2 go.
  job.job().ranks[0].trace.numbers[0] = 3;
  ExecutionTrace& trace = job.job().ranks[0].trace;
  trace.numbers[trace.comms[0].in_split.begin] = 1;
  trace.numbers[trace.comms[0].in_split.begin + 1] = 2;
  ReplayProgram program = job.program();
  const RankProgram& rank = program.ranks[0];
  EXPECT_THAT(rank.numbers_in(rank.steps[0].in_split), ElementsAre(4, 8));
  EXPECT_THAT(rank.numbers_in(rank.steps[0].out_split), ElementsAre(4, 8));
}

// Would fail if options left out too much or too little, or if that went unseen.
TEST(MakeProgram, OptionsChoose) {
  samples::HandJob job(2, {{0, 1}});
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    job.comm(rank, asked("allreduce", 1));
    samples::HandComm other = asked("broadcast", 2);
    other.group = 1;
    job.comm(rank, other);
    job.comm(rank, wait_for(1));
    job.comm(rank, wait_for(2));
    job.op(rank, "aten::relu", program_tensor(), program_tensor());
  }
  auto steps = [&](const ProgramOptions& options) {
    ReplayProgram program = job.program(options);
    return program.ranks[0].steps.size();
  };
  EXPECT_EQ(steps({}), 5u);
  EXPECT_EQ(steps({.computes = false}), 4u);
  EXPECT_EQ(steps({.kinds = {CommKind::broadcast}}), 3u);
  EXPECT_EQ(steps({.groups = {0}, .computes = false}), 2u);
  ReplayProgram program = job.program({.groups = {0}});
  EXPECT_EQ(program.ranks[1].left_out, 1u);
  EXPECT_EQ(program.ranks[1].dangling_waits, 0u);
}

// Would fail if steps were cut elsewhere than at their markers.
TEST(MakeProgram, StepsAreWindows) {
  ReplayProgram whole = samples::recorded_program("generated/comms4");
  ReplayProgram first = samples::recorded_program("generated/comms4", {.steps = {0}});
  ReplayProgram both = samples::recorded_program("generated/comms4", {.steps = {0, 0}});
  EXPECT_LT(first.ranks[0].communications, whole.ranks[0].communications);
  EXPECT_GT(first.ranks[0].communications, 0u);
  EXPECT_EQ(both.ranks[0].communications, 2 * first.ranks[0].communications);
  simmesh::testing::expect_error(
      [] { samples::recorded_program("generated/comms4", {.steps = {99}}); },
      ErrorKind::index_error, "99");
}

// Would fail if what can't be replayed were dropped without a word.
TEST(MakeProgram, WarnsOfWhatItLeavesOut) {
  samples::HandJob job(1);
  job.comm(0, asked("all_the_things", 1));
  job.comm(0, asked("all_the_things", 2));
  samples::HandComm nowhere = asked("allreduce", 3);
  nowhere.group = {};
  job.comm(0, nowhere);
  ReplayProgram program = job.program();
  EXPECT_EQ(program.ranks[0].left_out, 3u);
  ASSERT_EQ(program.warnings.size(), 2u);
  EXPECT_EQ(program.warnings[0].rule, "unknown_operation");
  EXPECT_EQ(program.warnings[0].node, 2);
  EXPECT_THAT(program.warnings[0].message, ::testing::HasSubstr("all_the_things"));
  EXPECT_EQ(program.warnings[1].rule, "unknown_group");
}

TEST(MakeProgram, RefusesJobsWithoutAllRanks) {
  samples::HandJob job(3);
  job.job().ranks.erase(job.job().ranks.begin() + 1);
  simmesh::testing::expect_error([&] { job.program(); }, ErrorKind::value_error,
                                 "got none of rank 1");
}

// Would fail if a trace without tensors, as older tools write, had nothing to send.
TEST(MakeProgram, MakesTensorsWhereTheTraceHasNone) {
  samples::HandJob job(1);
  job.comm(0, asked("allreduce", 1));
  ExecutionTrace& trace = job.job().ranks[0].trace;
  for (TraceTensor& tensor : trace.tensors) tensor.is_defined = false;
  ReplayProgram program = job.program();
  const RankProgram& rank = program.ranks[0];
  ASSERT_EQ(rank.tensors_in(rank.steps[0].inputs).size(), 1u);
  EXPECT_EQ(rank.tensors_in(rank.steps[0].inputs)[0].elements, 4);
  EXPECT_EQ(rank.tensors_in(rank.steps[0].inputs)[0].dtype, DType::float32);
}

}  // namespace

}  // namespace simmesh::replay
