#include "replay/record/comm_recorder.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "replay/record/record_run.h"
#include "replay/validate/validate_job.h"
#include "tests/every_schedule.h"

namespace simmesh::replay {
namespace {

// Every operation of collectives.h, once.
void communicate_in_every_way(Rank& rank) {
  ProcessGroup world = ProcessGroup::world();
  std::int64_t size = world.size(), id = world.rank();
  Tensor x = full({4, 2 * size}, DType::float32, double(id + 1));
  std::vector<Tensor> both = {x, full({size}, DType::float32, 2)};
  rank.record(all_reduce(x, ReduceOp::sum, world));
  all_reduce_(x, ReduceOp::max, world);
  all_reduce_coalesced(both, ReduceOp::avg, world);
  rank.record(all_gather(x, {.dim = 1}, world));
  all_gather_list(full({id, 3}, DType::uint8, 1), world);
  all_gather_coalesced(both, world);
  rank.record(reduce_scatter(x, ReduceOp::sum, {.dim = 1}, world));
  reduce_scatter_coalesced({{x.transpose(0, 1), both[1]}}, ReduceOp::sum, world);
  Work works[] = {all_reduce_async(x, ReduceOp::sum, world), all_gather_async(x, {}, world),
                  reduce_scatter_async(x, ReduceOp::sum, {.dim = 1}, world),
                  broadcast_async(x, 0, world)};
  for (Work& work : works) rank.record(work.wait());
  broadcast_(x, size - 1, world);
  rank.record(std::uint64_t(broadcast_object(id == 0 ? "four" : "", 0, world).size()));
  reduce(x, ReduceOp::sum, size - 1, world);
  std::vector<Tensor> pieces;
  for (std::int64_t member = 0; member < size; ++member)
    pieces.push_back(full({2, id + 1}, DType::int32, double(member)));
  std::vector<Tensor> equal(std::size_t(size), x);
  scatter(id == 0 ? gsl::span<const Tensor>(equal) : gsl::span<const Tensor>(), 0, world);
  gather(x, size - 1, world);
  all_to_all(x, {1, 0}, world);
  all_to_all_list(pieces, world);
  Work got = irecv(x.shape(), x.dtype(), {}, world);
  isend(x, {(id + 1) % size}, world).wait();
  rank.record(got.wait());
  barrier(world);
}

// A node of a kind that a validator or a replay can't follow would be of no use.
TEST(CommRecorder, GivesTracesThatAreSound) {
  for (std::size_t ranks : {1, 2, 3, 4}) {
    run_every_schedule(ranks, communicate_in_every_way);
    World world({.ranks = ranks});
    Recording recording = record_run(world, communicate_in_every_way);
    ASSERT_TRUE(recording.outcome.ok()) << report(recording.outcome);
    for (const Finding& finding : validate(recording.job))
      EXPECT_NE(finding.severity, Severity::error) << ranks << ": " << to_string(finding);
  }
}

const TraceComm& comm_named(const ExecutionTrace& trace, std::string_view name) {
  for (const TraceComm& comm : trace.comms)
    if (trace.text(comm.name) == name) return comm;
  ADD_FAILURE() << "no " << name;
  return trace.comms.front();
}

TEST(CommRecorder, RecordsRequestsRootsAndPeers) {
  World world({.ranks = 3});
  TraceJob job = record_run(world, communicate_in_every_way).job;
  const ExecutionTrace& trace = job.find(1)->trace;
  EXPECT_EQ(trace.comms[0].request, (TraceRequest{1, false}));
  EXPECT_EQ(trace.comms[0].rank, 1);
  EXPECT_EQ(comm_named(trace, "reduce").rank, 2);
  EXPECT_EQ(comm_named(trace, "send").rank, 2);
  EXPECT_EQ(comm_named(trace, "send").request, (TraceRequest{2, true}));
  // It was posted for any sender, and says who it was.
  EXPECT_EQ(comm_named(trace, "recv").rank, 0);
  EXPECT_EQ(comm_named(trace, "recv").is_asynchronous, true);
  EXPECT_EQ(comm_named(trace, "barrier").has_tensors(), false);
  const TraceComm& wait = comm_named(trace, "wait");
  EXPECT_EQ(wait.global_rank_start, -1);
  EXPECT_EQ(wait.group_size, 1);
  auto split = trace.numbers_in(comm_named(trace, "all_to_all").out_split);
  EXPECT_EQ(std::vector(split.begin(), split.end()), (std::vector<std::int64_t>{2, 4, 6}));
}

// The result of a started operation is the tensor of its node, not one of the wait.
TEST(CommRecorder, GivesResultsToTheirOperation) {
  World world({.ranks = 2});
  TraceJob job = record_run(world, [](Rank&) {
                   Tensor x = full({4}, DType::float32, 1);
                   Work work = all_gather_async(x, {}, ProcessGroup::world());
                   all_reduce(work.wait(), ReduceOp::sum, ProcessGroup::world());
                 }).job;
  const ExecutionTrace& trace = job.find(0)->trace;
  const TraceNode& gather = trace.nodes[trace.nodes.size() - 3];
  const TraceNode& reduce = trace.nodes.back();
  EXPECT_EQ(trace.tensors_in(gather.outputs)[0].elements, 8);
  EXPECT_EQ(trace.tensors_in(gather.outputs)[0].storage,
            trace.tensors_in(reduce.inputs)[0].storage);
}

}  // namespace
}  // namespace simmesh::replay
