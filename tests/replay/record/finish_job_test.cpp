#include "replay/record/finish_job.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "replay/record/record_run.h"
#include "replay/validate/validate_job.h"

namespace simmesh::replay {
namespace {

TraceJob job_of_run(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  Recording recording = record_run(world, body);
  EXPECT_TRUE(recording.outcome.ok()) << report(recording.outcome);
  return std::move(recording.job);
}

std::string attribute_of(const ExecutionTrace& trace, const TraceComm& comm,
                         std::string_view name) {
  for (const TraceAttribute& attribute : trace.attributes_in(comm.attributes))
    if (trace.text(attribute.name) == name) {
      const auto* number = std::get_if<std::int64_t>(&attribute.value);
      return number ? std::to_string(*number)
                    : std::string(trace.text(std::get<TextId>(attribute.value)));
    }
  return "none";
}

// A group has one name on all ranks, whichever of them uses it first.
TEST(FinishJob, NamesGroupsAlikeOnAllRanks) {
  TraceJob job = job_of_run(4, [](Rank& rank) {
    ProcessGroup odd_even =
        ProcessGroup::of(rank.id() % 2 ? RankList::of({3, 1}) : RankList::of({0, 2}), "stride");
    barrier(odd_even);
    barrier(ProcessGroup::world());
    barrier(ProcessGroup::of(RankList::of({0, 1, 2, 3}), "again"));
    barrier(ProcessGroup::of(RankList::of({std::int64_t(rank.id())}), "alone"));
  });
  auto groups_of = [&](std::int64_t rank) {
    std::string text;
    for (const ProcessGroupRecord& group : job.find(rank)->trace.process_groups)
      text += fmt::format("{}:{}:{}:{} ", group.name, group.description,
                          simmesh::to_string(DimSpan(group.ranks)), group.count);
    return text;
  };
  EXPECT_EQ(groups_of(0), "0:default_pg:[]:4 1:stride:[0, 2]:4 2:again:[]:4 3:alone:[0]:4 ");
  EXPECT_EQ(groups_of(3), "0:default_pg:[]:4 2:again:[]:4 4:stride:[3, 1]:4 7:alone:[3]:4 ");
  const ExecutionTrace& trace = job.find(3)->trace;
  ASSERT_EQ(trace.comms.size(), 4);
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "global_rank_start"), "3");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "global_rank_stride"), "-2");
  EXPECT_EQ(attribute_of(trace, trace.comms[1], "global_rank_stride"), "1");
  EXPECT_EQ(attribute_of(trace, trace.comms[3], "global_rank_stride"), "0");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "pg_name"), "4");
  EXPECT_EQ(attribute_of(trace, trace.comms[1], "pg_desc"), "default_pg");
}

TEST(FinishJob, SaysWhatPyTorchsTracesDont) {
  TraceJob job = job_of_run(2, [](Rank&) {
    ProcessGroup world = ProcessGroup::world();
    Tensor x = full({4, 2}, DType::bfloat16, 1);
    reduce_scatter(x, ReduceWith::premul_sum(0.5), {.dim = 1}, world);
    all_reduce(x, ReduceOp::max, world);
  });
  const ExecutionTrace& trace = job.find(1)->trace;
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "collective_name"), "_reduce_scatter_base");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "dtype"), "BFloat16");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "in_msg_nelems"), "8");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "out_msg_nelems"), "4");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "reduce_op"), "premul_sum");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "reduce_factor"), "0.5");
  EXPECT_EQ(attribute_of(trace, trace.comms[0], "dim"), "1");
  EXPECT_EQ(attribute_of(trace, trace.comms[1], "reduce_op"), "max");
  EXPECT_EQ(attribute_of(trace, trace.comms[1], "dim"), "none");
}

// Parts of all sizes, empty ones too, along each dim.
TEST(FinishJob, ListsUnevenParts) {
  for (std::int64_t ranks : {1, 2, 3, 4})
    for (std::int64_t rows : {0, 1, 3, 5})
      for (std::int64_t dim : {0, 1}) {
        TraceJob job = job_of_run(std::size_t(ranks), [&](Rank& rank) {
          ProcessGroup world = ProcessGroup::world();
          Shape shape = {3, 3};
          shape[std::size_t(dim)] = rows;
          reduce_scatter(full(shape, DType::float32, 1), ReduceOp::sum,
                         {.dim = dim, .uneven = true}, world);
          shape[std::size_t(dim)] = std::int64_t(rank.id()) * rows;
          all_gather(full(shape, DType::float32, 1), {.dim = dim, .uneven = true}, world);
          all_to_all(full({rows, 4}, DType::float32, 1), {0, 1, true}, world);
        });
        for (const RankTrace& rank : job.ranks) {
          const ExecutionTrace& trace = rank.trace;
          const TraceNode& scattered = trace.nodes[trace.nodes.size() - 3];
          const TraceNode& gathered = trace.nodes[trace.nodes.size() - 2];
          ASSERT_EQ(scattered.inputs.size(), ranks);
          ASSERT_EQ(gathered.outputs.size(), ranks);
          for (std::int64_t member = 0; member < ranks; ++member)
            EXPECT_EQ(trace.tensors_in(gathered.outputs)[std::size_t(member)].elements,
                      member * rows * 3);
        }
        for (const Finding& finding : validate(job))
          EXPECT_NE(finding.severity, Severity::error) << to_string(finding);
      }
}

TEST(FinishJob, LeavesOutRanksThatNeverBegan) {
  std::vector<RecordedRank> ranks(2);
  EXPECT_TRUE(finish_job(std::move(ranks)).ranks.empty());
}

}  // namespace
}  // namespace simmesh::replay
