#include "replay/record/record_run.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/ops/elementwise/activations.h"
#include "replay/trace/replay_list.h"
#include "replay/write/write_execution_trace.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/expect_error.h"

namespace simmesh::replay {
namespace {

// All kinds of communication, with splits that differ between ranks, and a group within the world.
void communicate(Rank& rank) {
  ProcessGroup world = ProcessGroup::world();
  auto id = std::int64_t(rank.id());
  std::int64_t size = world.size();
  Tensor x = full({4, 2 * size}, DType::float32, double(id));
  Work work = all_reduce_async(x, ReduceOp::avg, world);
  rank.record(all_gather(x, {.dim = 1}, world));
  rank.record(work.wait());
  rank.record(all_gather(full({1 + id, 2}, DType::float32, 1), {.dim = 0, .uneven = true}, world));
  rank.record(reduce_scatter(x, ReduceOp::sum, {.dim = 1}, world));
  rank.record(broadcast(x, size - 1, world));
  Tensor reduced = reduce(x, ReduceOp::max, 0, world);
  if (reduced.is_defined()) rank.record(reduced);
  rank.record(all_to_all(full({5, 3}, DType::int64, 1), {0, 1, true}, world));
  Splits splits;
  for (std::int64_t member = 0; member < size; ++member) {
    splits.input.push_back(id * member);
    splits.output.push_back(id * member);
  }
  std::int64_t rows = id * size * (size - 1) / 2;
  rank.record(all_to_all_single(full({rows, 2}, DType::bfloat16, 1), splits, world));
  Work sent = isend(x, {(id + 1) % size, 7}, world);
  rank.record(recv(x.shape(), x.dtype(), {(id + size - 1) % size, 7}, world).tensor);
  sent.wait();
  std::int64_t pair = id / 2 * 2;
  if (pair + 1 < size)
    rank.record(
        all_reduce(x, ReduceOp::sum, ProcessGroup::of(RankList::of({pair, pair + 1}), "pair")));
  barrier(world);
}

std::vector<std::string> names_of(const ExecutionTrace& trace) {
  std::vector<std::string> names;
  for (const TraceComm& comm : trace.comms) names.emplace_back(trace.text(comm.name));
  return names;
}

// If schedules got into traces, a recording of one couldn't be compared with that of another.
TEST(RecordRun, GivesEqualBytesUnderEverySchedule) {
  for (std::size_t ranks : {1, 2, 3, 4}) {
    std::vector<std::string> first;
    std::uint64_t data_hash = World({.ranks = ranks}).run(communicate).data_hash;
    for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
      for (std::size_t threads : {1, 2}) {
        World world({.ranks = ranks, .schedule = Schedule::parse(schedule), .threads = threads});
        Recording recording = record_run(world, communicate);
        ASSERT_TRUE(recording.outcome.ok()) << report(recording.outcome);
        EXPECT_EQ(recording.outcome.data_hash, data_hash);
        EXPECT_EQ(recording.outcome.live_storages, 0);
        std::vector<std::string> texts;
        for (const RankTrace& rank : recording.job.ranks) texts.push_back(to_json(rank.trace));
        ASSERT_EQ(texts.size(), ranks);
        if (first.empty()) first = texts;
        EXPECT_EQ(texts, first) << schedule << " with " << threads;
      }
  }
}

// Who records sees the run that he would have had without.
TEST(RecordRun, ChangesNoFigureOfTheRun) {
  for (bool shapes_only : {false, true}) {
    World world({.ranks = 4, .schedule = Schedule::parse("seeded:5"), .shapes_only = shapes_only});
    Outcome alone = world.run(communicate);
    Outcome recorded = record_run(world, communicate).outcome;
    ASSERT_TRUE(recorded.ok()) << report(recorded);
    EXPECT_EQ(recorded.schedule_hash, alone.schedule_hash);
    EXPECT_EQ(recorded.steps, alone.steps);
    EXPECT_EQ(recorded.peak_bytes, alone.peak_bytes);
    EXPECT_EQ(recorded.copies_on_write, alone.copies_on_write);
    EXPECT_EQ(recorded.live_storages, alone.live_storages);
    EXPECT_TRUE(shapes_only || recorded.data_hash == alone.data_hash);
  }
}

// A world of shapes only gives the traces of the world with data.
TEST(RecordRun, NeedsNoData) {
  std::vector<std::string> texts;
  for (bool shapes_only : {false, true}) {
    World world({.ranks = 2, .shapes_only = shapes_only});
    texts.push_back(to_json(record_run(world, communicate).job.find(1)->trace));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(RecordRun, NamesDevicesWhereThereAreAny) {
  World world({.ranks = 2, .device = DeviceModel()});
  Recording recording = record_run(world, communicate);
  ASSERT_TRUE(recording.outcome.ok()) << report(recording.outcome);
  const ExecutionTrace& trace = recording.job.find(1)->trace;
  EXPECT_EQ(trace.text(trace.tensors.front().device), "cuda:1");
}

TEST(RecordRun, HasAllThatRanksCommunicate) {
  World world({.ranks = 2});
  Recording recording = record_run(world, communicate);
  const ExecutionTrace& trace = recording.job.find(0)->trace;
  EXPECT_EQ(names_of(trace), (std::vector<std::string>{
                                 "allreduce", "_allgather_base", "wait", "all_gather",
                                 "_reduce_scatter_base", "broadcast", "reduce", "all_to_allv",
                                 "all_to_allv", "send", "recv", "wait", "allreduce", "barrier"}));
  EXPECT_EQ(replay_list(trace, tree_of(trace)).operators.size(), trace.comms.size());
  ASSERT_EQ(trace.process_groups.size(), 2);
  EXPECT_EQ(trace.process_groups[0].description, "default_pg");
  EXPECT_EQ(trace.process_groups[1].description, "pair");
}

// A member's part of an uneven exchange is what the others send.
TEST(RecordRun, SplitsOfExchangesAreTransposed) {
  World world({.ranks = 3});
  TraceJob job = record_run(world, communicate).job;
  int exchanges = 0;
  // The last rank is in no pair, so it has the fewest calls.
  for (std::size_t i = 0; i < job.ranks[2].trace.comms.size(); ++i)
    for (const RankTrace& from : job.ranks)
      for (const RankTrace& to : job.ranks) {
        const TraceComm& sends = from.trace.comms[i];
        const TraceComm& gets = to.trace.comms[i];
        if (from.trace.text(sends.name) != "all_to_allv") continue;
        ++exchanges;
        ASSERT_EQ(sends.in_split.size(), 3);
        EXPECT_EQ(from.trace.numbers_in(sends.in_split)[std::size_t(to.rank)],
                  to.trace.numbers_in(gets.out_split)[std::size_t(from.rank)]);
      }
  EXPECT_EQ(exchanges, 18);
}

TEST(RecordRun, KeepsWhatAFailedRunDid) {
  World world({.ranks = 2});
  Recording recording = record_run(world, [](Rank& rank) {
    barrier(ProcessGroup::world());
    if (rank.id() == 1) raise(ErrorKind::value_error, "test", "expected to fail");
    barrier(ProcessGroup::world());
  });
  EXPECT_FALSE(recording.outcome.ok());
  ASSERT_EQ(recording.job.ranks.size(), 2);
  for (const RankTrace& rank : recording.job.ranks)
    EXPECT_EQ(names_of(rank.trace), std::vector<std::string>{"barrier"});
}

// A rank that is unwound within an op leaves the op without results, below its parent.
TEST(RecordRun, KeepsAnOpThatNeverEnded) {
  World world({.ranks = 2});
  Recording recording = record_run(world, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2}, {"tp"});
    Tensor one = full({2, 2}, DType::float32, 1);
    DTensor sum = from_local(one, mesh, {Partial(ReduceOp::sum)}, {.check_shapes = false});
    if (rank.id() == 1) raise(ErrorKind::value_error, "test", "expected to fail");
    relu(sum);
  });
  EXPECT_FALSE(recording.outcome.ok());
  const ExecutionTrace& trace = recording.job.find(0)->trace;
  const TraceNode& last = trace.nodes.back();
  EXPECT_EQ(trace.text(last.name), "aten::relu");
  EXPECT_EQ(last.outputs.size(), 0);
  EXPECT_TRUE(trace.comms.empty());
}

TEST(RecordRun, RefusesAFoldedWorld) {
  World world({.ranks = 4, .shapes_only = true, .fold = true});
  simmesh::testing::expect_error([&] { record_run(world, [](Rank&) {}); }, ErrorKind::value_error,
                                 "expected a world that runs every rank");
}

}  // namespace
}  // namespace simmesh::replay
