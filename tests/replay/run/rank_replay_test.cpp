#include "replay/run/rank_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/schedules/random_stream.h"
#include "replay/run/replay_job.h"
#include "replay/run/simulate.h"
#include "tests/replay/run/all_kinds_job.h"
#include "tests/replay/run/every_replay.h"
#include "tests/replay/run/hand_job.h"

namespace simmesh::replay {

namespace {

struct RecordedType {
  const char* name;
  std::int64_t item_bytes;
};
constexpr RecordedType recorded_types[] = {{"float", 4},
                                           {"double", 8},
                                           {"c10::Half", 2},
                                           {"c10::BFloat16", 2},
                                           {"long int", 8},
                                           {"int", 4},
                                           {"unsigned char", 1},
                                           {"bool", 1},
                                           {"c10::complex<float>", 8},
                                           {"short int", 2},
                                           {"c10::Float8_e4m3fn", 1}};

// Would fail if any form of any collective or message put out other bits than plain loops, for any
// type of elements.
TEST(RankReplay, EveryKindEqualsTheOracleForEveryType) {
  for (std::int64_t world : {1, 2, 3, 4}) {
    for (const RecordedType& type : recorded_types) {
      samples::AllKinds kinds(world, type.name, type.item_bytes);
      SCOPED_TRACE(std::string(type.name) + " on " + std::to_string(world));
      EXPECT_EQ(samples::expect_replays(kinds.job().program()), kinds.outputs());
    }
  }
}

// Would fail if communications that are under way mixed up their operands or outputs.
TEST(RankReplay, AsynchronousKindsEqualTheOracle) {
  for (std::int64_t world : {2, 3, 4}) {
    for (Allocation allocation : {Allocation::pre, Allocation::lazy}) {
      samples::AllKinds kinds(world, "float", 4, true);
      ReplayProgram program = kinds.job().program();
      ReplayJobOptions options;
      options.run.allocation = allocation;
      options.run.iterations = 2;
      EXPECT_EQ(samples::expect_replays(program, options), kinds.outputs());
      EXPECT_GT(program.ranks[0].never_waited_for, 0u);
    }
  }
}

// Would fail if warm-up or repetition changed the outputs.
TEST(RankReplay, IterationsPutOutTheSame) {
  samples::AllKinds kinds(3, "c10::BFloat16", 2);
  ReplayProgram program = kinds.job().program();
  JobReplay once = replay_job(program);
  ReplayJobOptions options;
  options.run.warm_up = 2;
  options.run.iterations = 3;
  EXPECT_EQ(replay_job(program, options).outputs, once.outputs);
}

// Would fail if exact sums of elements with 24 bits depended on anything.
TEST(RankReplay, WidePayloadIsExactUnderExactArithmetic) {
  for (const RecordedType& type : recorded_types) {
    samples::AllKinds kinds(4, type.name, type.item_bytes);
    ReplayJobOptions options;
    options.run.payload = {.rule = Rule::wide, .seed = 7};
    options.world.arithmetic = Arithmetic::exact();
    SCOPED_TRACE(type.name);
    EXPECT_EQ(samples::expect_replays(kinds.job().program(), options), kinds.outputs());
    options.world.arithmetic = Arithmetic::canonical();
    EXPECT_EQ(samples::expect_replays(kinds.job().program(), options), kinds.outputs());
  }
}

// Would fail if views of one storage weren't the same memory, or if a later operation changed an
// earlier output before it was read.
TEST(RankReplay, TensorsShareStorages) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    job.op(rank, "aten::fill", {}, {{.storage = 7, .elements = 12}});
    std::vector<samples::HandTensor> front = {{.storage = 7, .elements = 4}};
    std::vector<samples::HandTensor> back = {{.storage = 7, .elements = 8, .offset = 4}};
    job.comm(rank, {.name = "allreduce", .request = 1, .inputs = front, .outputs = front});
    job.comm(rank, {.name = "_allgather_base", .request = 2, .inputs = front, .outputs = back});
    job.comm(rank, {.name = "broadcast", .request = 3, .inputs = back, .outputs = back});
  }
  ReplayProgram program = job.program();
  EXPECT_EQ(program.ranks[0].storages.size(), 1u);
  EXPECT_EQ(samples::expect_replays(program), 6u);
  EXPECT_EQ(replay_job(program).outcome.peak_bytes, 48);
}

// Would fail if one tensor that is several inputs or outputs weren't one memory.
TEST(RankReplay, OneTensorMayStandForSeveral) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    samples::HandTensor in{.storage = 1, .elements = 3}, out{.storage = 2, .elements = 3};
    job.comm(rank, {.name = "all_to_all", .request = 1, .inputs = {in, in}, .outputs = {out, out}});
  }
  EXPECT_EQ(samples::expect_replays(job.program()), 2u);
}

// Would fail if a rank that sends or gets nothing, with an empty tensor, an undefined one or none
// at all, were taken to call something else than the others.
TEST(RankReplay, SomeRanksSendOrGetNothing) {
  for (int form : {0, 1, 2}) {
    samples::HandJob job(3);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      // All that ranks 0 and 1 send goes to rank 1.
      std::int64_t in = rank == 2 ? 0 : 4, out = rank == 1 ? 8 : 0;
      std::vector<samples::HandTensor> inputs = {{.storage = 1, .elements = in}};
      std::vector<samples::HandTensor> outputs = {{.storage = 2, .elements = out}};
      if (form == 2 && in == 0)
        inputs.clear();
      else if (form == 2 && out == 0)
        outputs.clear();
      job.comm(rank, {.name = "all_to_allv",
                      .inputs = inputs,
                      .outputs = outputs,
                      .in_split = {0, in, 0},
                      .out_split = {out / 2, out / 2, 0}});
      if (form != 1) continue;
      for (TraceTensor& tensor : job.job().ranks[std::size_t(rank)].trace.tensors)
        tensor.is_defined = tensor.elements > 0;
    }
    EXPECT_EQ(samples::expect_replays(job.program()), 3u);
  }
}

// Would fail if an undefined tensor among the pieces of a list shifted the others.
TEST(RankReplay, UndefinedPiecesOfAListAreEmpty) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    std::vector<samples::HandTensor> inputs, outputs;
    for (std::int64_t peer = 0; peer < 2; ++peer) {
      std::int64_t elements = 3 * ((rank + peer) % 2);
      inputs.push_back({.storage = 1 + peer, .elements = elements});
      outputs.push_back({.storage = 3 + peer, .elements = elements});
    }
    job.comm(rank, {.name = "all_to_all", .inputs = inputs, .outputs = outputs});
    for (TraceTensor& tensor : job.job().ranks[std::size_t(rank)].trace.tensors)
      tensor.is_defined = tensor.elements > 0;
  }
  EXPECT_EQ(samples::expect_replays(job.program()), 2u);
}

// Would fail if lazy allocation kept storages longer than needed, or pre-allocation less.
TEST(RankReplay, AllocatesBeforehandOrLazily) {
  samples::HandJob job(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    job.op(rank, "aten::relu", {{.storage = 1, .elements = 100}}, {{.storage = 2, .elements = 50}});
    job.op(rank, "aten::relu", {{.storage = 2, .elements = 50}}, {{.storage = 3, .elements = 10}});
    job.op(rank, "aten::relu", {{.storage = 4, .elements = 200}}, {{.storage = 3, .elements = 10}});
    job.op(rank, "aten::to", {{.storage = 3, .elements = 10}},
           {{.storage = 5, .elements = 1000, .device = "cpu"}});
  }
  ReplayProgram program = job.program();
  ReplayJobOptions options;
  EXPECT_EQ(replay_job(program, options).outcome.peak_bytes, 4 * (200 + 10));
  options.run.allocation = Allocation::pre;
  EXPECT_EQ(replay_job(program, options).outcome.peak_bytes, 4 * (100 + 200 + 50 + 10));
}

// Would fail if a hang of the job weren't reported with the nodes of its traces.
TEST(RankReplay, ReportsADeadlockByItsNodes) {
  samples::HandJob job(2);
  std::vector<samples::HandTensor> tensors = {{.storage = 1, .elements = 3}};
  std::int64_t node =
      job.comm(0, {.name = "allreduce", .request = 1, .inputs = tensors, .outputs = tensors});
  for (const char* schedule : {"fifo", "seeded:1", "pct:3"}) {
    ReplayJobOptions options;
    options.world.schedule = Schedule::parse(schedule);
    JobReplay replay = replay_job(job.program(), options);
    ASSERT_FALSE(replay.outcome.ok());
    EXPECT_EQ(replay.outcome.failure->kind, Failure::Kind::deadlock);
    EXPECT_THAT(report(replay.outcome),
                ::testing::HasSubstr("rank-0.json:" + std::to_string(node)));
  }
}

// Would fail if ranks that don't agree continued with wrong data.
TEST(RankReplay, ReportsAMismatchByBothNodes) {
  auto failure_of = [](const samples::HandComm& a, const samples::HandComm& b) {
    samples::HandJob job(2);
    job.comm(0, a);
    job.comm(1, b);
    JobReplay replay = replay_job(job.program());
    return replay.outcome.ok() ? std::string() : replay.outcome.failure->message;
  };
  std::vector<samples::HandTensor> three = {{.storage = 1, .elements = 3}};
  std::vector<samples::HandTensor> four = {{.storage = 1, .elements = 4}};
  samples::HandComm reduced{.name = "allreduce", .inputs = three, .outputs = three};
  samples::HandComm other = reduced;
  other.inputs = other.outputs = four;
  EXPECT_THAT(failure_of(reduced, other), ::testing::HasSubstr("the shapes differ"));
  EXPECT_THAT(failure_of(reduced, other), ::testing::HasSubstr("rank-0.json:2"));
  EXPECT_THAT(failure_of(reduced, other), ::testing::HasSubstr("rank-1.json:2"));
  samples::HandComm sent = reduced;
  sent.name = "broadcast";
  EXPECT_THAT(failure_of(reduced, sent), ::testing::HasSubstr("the operations differ"));
  samples::HandComm far = sent;
  far.rank = 1;
  EXPECT_THAT(failure_of(sent, far), ::testing::HasSubstr("the roots differ"));
  far.rank = 2;
  EXPECT_THAT(failure_of(far, far), ::testing::HasSubstr("expected a root among 2 members"));
}

// Would fail if sizes that can't be right crashed instead of ending the replay with their node.
TEST(RankReplay, RefusesOutputsAndListsThatDontFit) {
  auto failure_of = [](const samples::HandComm& comm) {
    samples::HandJob job(2);
    for (std::int64_t rank = 0; rank < 2; ++rank) job.comm(rank, comm);
    JobReplay replay = replay_job(job.program());
    return replay.outcome.ok() ? std::string() : replay.outcome.failure->message;
  };
  samples::HandTensor three{.storage = 1, .elements = 3}, four{.storage = 2, .elements = 4};
  EXPECT_THAT(failure_of({.name = "_allgather_base", .inputs = {three}, .outputs = {four}}),
              ::testing::HasSubstr("expected outputs of 6 elements"));
  EXPECT_THAT(
      failure_of(
          {.name = "all_to_all", .inputs = {three, three, three}, .outputs = {four, four, four}}),
      ::testing::HasSubstr("expected 2 input tensors, got 3"));
  EXPECT_THAT(failure_of({.name = "scatter", .inputs = {three, three, three}, .outputs = {four}}),
              ::testing::HasSubstr("expected 2 input tensors, got 3"));
  EXPECT_THAT(failure_of({.name = "gather", .inputs = {}, .outputs = {four}}),
              ::testing::HasSubstr("expected 1 input tensors, got 0"));
  EXPECT_THAT(failure_of({.name = "all_to_allv",
                          .inputs = {three},
                          .outputs = {three},
                          .in_split = {1, 1},
                          .out_split = {1, 2}}),
              ::testing::HasSubstr("split"));
  EXPECT_THAT(failure_of({.name = "_reduce_scatter_base", .inputs = {three}, .outputs = {four}}),
              ::testing::HasSubstr("must be a multiple of group_size"));
}

// Random communications with random sizes, splits, roots and requests.
samples::HandJob nonsense_job(RandomStream& random) {
  const char* names[] = {"allreduce",
                         "allreduce_coalesced",
                         "broadcast",
                         "reduce",
                         "all_gather",
                         "_allgather_base",
                         "reduce_scatter",
                         "_reduce_scatter_base",
                         "gather",
                         "scatter",
                         "all_to_all",
                         "all_to_allv",
                         "send",
                         "recv",
                         "recvAnySource",
                         "barrier",
                         "wait"};
  auto below = [&](std::uint64_t end) { return std::int64_t(random.next() % end); };
  samples::HandJob job(3, {{0, 1, 2}});
  auto tensors = [&] {
    std::vector<samples::HandTensor> made;
    for (std::int64_t count = below(2) == 0 ? 1 : below(4); count > 0; --count)
      made.push_back({.storage = 1 + below(4),
                      .elements = below(5),
                      .type = below(3) == 0 ? "long int" : "float",
                      .item_bytes = 4 << below(2),
                      .offset = below(3)});
    return made;
  };
  for (std::int64_t i = 1 + below(3); i > 0; --i) {
    samples::HandComm comm{.name = names[below(std::size(names))],
                           .request = below(3),
                           .inputs = tensors(),
                           .outputs = tensors(),
                           .rank = below(5) - 1,
                           .group = std::uint32_t(below(2))};
    for (auto* split : {&comm.in_split, &comm.out_split})
      for (std::int64_t count = below(3) == 0 ? below(5) : 0; count > 0; --count)
        split->push_back(below(4) - 1);
    if (below(2) == 0) comm.is_asynchronous = below(2) == 0;
    bool is_wait = comm.name == "wait";
    if (is_wait) comm.inputs = comm.outputs = {};
    for (std::int64_t rank = 0; rank < 3; ++rank)
      if (below(40) > 0) job.comm(rank, comm);
  }
  return job;
}

// Would fail if any nonsense ended otherwise than with success or a report, or if a successful run
// had other outputs than the oracle.
TEST(RankReplay, NonsenseEndsWithAReport) {
  RandomStream random(7, 0);
  std::size_t succeeded = 0, failed = 0;
  for (int i = 0; i < 3000; ++i) {
    ReplayProgram program = nonsense_job(random).program();
    JobMeetings meetings = meetings_of(program);
    simulate(program, meetings, modelled_costs(program, meetings));
    auto expected = serial_oracle(program, meetings);
    JobReplay replay = replay_job(program);
    if (!replay.outcome.ok()) {
      ++failed;
      continue;
    }
    ++succeeded;
    EXPECT_EQ(differences(program, expected, replay.outputs), std::vector<std::string>()) << i;
  }
  EXPECT_GT(succeeded, 50u);
  EXPECT_GT(failed, 500u);
}

}  // namespace

}  // namespace simmesh::replay
