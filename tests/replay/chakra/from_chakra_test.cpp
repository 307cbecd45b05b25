#include "replay/chakra/from_chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/ops/elementwise/pointwise.h"
#include "replay/chakra/graph_job.h"
#include "replay/chakra/to_chakra.h"
#include "replay/chakra/write_chakra.h"
#include "replay/job/trace_job.h"
#include "replay/record/record_run.h"
#include "replay/report/report_job.h"
#include "replay/report/report_text.h"
#include "tests/replay/trace_text.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// graph_of returns a collective of each type that takes 64 bytes, one after another.
ChakraTrace graph_of(const std::vector<ChakraCommType>& types) {
  ChakraTrace trace;
  for (ChakraCommType type : types) {
    std::uint64_t id = trace.nodes.size() + 7;
    trace.nodes.push_back(
        {.id = id,
         .name = "collective",
         .type = ChakraNodeType::comm_coll,
         .attributes = {{"comm_type", std::int64_t(type)}, {"comm_size", std::int64_t(64)}}});
    if (id > 7) trace.nodes.back().data_deps = {id - 1};
  }
  return trace;
}

TraceJob job_of_graphs(const std::vector<ChakraTrace>& graphs) {
  testing::TemporaryFolder folder;
  for (std::size_t i = 0; i < graphs.size(); ++i)
    folder.write("rank-" + std::to_string(i) + ".et", to_protobuf(graphs[i]));
  std::vector<std::string> paths = {folder.path().string()};
  TraceJob job;
  add_graphs(paths, job);
  return job;
}

const std::vector<ChakraCommType> all_types = {
    ChakraCommType::all_reduce, ChakraCommType::all_gather,     ChakraCommType::broadcast,
    ChakraCommType::all_to_all, ChakraCommType::reduce_scatter, ChakraCommType::barrier};

// Would fail if graphs weren't replayed, or a collective of theirs had another meaning or size.
TEST(FromChakra, GraphsAreReplayed) {
  TraceJob job = job_of_graphs({graph_of(all_types), graph_of(all_types)});
  ASSERT_THAT(job.ranks, SizeIs(2));
  JobReport report = report_job(job, std::nullopt);
  EXPECT_EQ(report.failed(), 0u) << to_text(report);
  ASSERT_TRUE(report.run.has_value());
  EXPECT_EQ(report.run->communications, 12u);
  EXPECT_EQ(job.ranks[0].trace.comms[1].in_elements, 16);
  EXPECT_EQ(job.ranks[0].trace.comms[1].out_elements, 32);
}

// Would fail if ranks whose graphs differ passed.
TEST(FromChakra, RanksThatDifferAreFound) {
  JobReport report = report_job(
      job_of_graphs({graph_of(all_types), graph_of({ChakraCommType::all_gather})}), std::nullopt);
  EXPECT_EQ(report.failed(), 1u);
}

// Would fail if messages named another rank, or a send had no receive.
TEST(FromChakra, MessagesMeet) {
  auto message = [](ChakraNodeType type, const char* side, std::int64_t rank) {
    ChakraTrace trace;
    trace.nodes.push_back({.id = 1,
                           .name = "message",
                           .type = type,
                           .attributes = {{side, rank}, {"comm_size", std::int64_t(8)}}});
    return trace;
  };
  JobReport report = report_job(job_of_graphs({message(ChakraNodeType::comm_send, "comm_dst", 1),
                                               message(ChakraNodeType::comm_recv, "comm_src", 0)}),
                                std::nullopt);
  EXPECT_EQ(report.failed(), 0u) << to_text(report);
  ASSERT_TRUE(report.run.has_value());
  EXPECT_EQ(report.run->communications, 2u);
}

// Would fail if a trace didn't come back from the form of a graph.
TEST(FromChakra, TracesComeBack) {
  World world({.ranks = 2});
  Recording recording = record_run(world, [](Rank&) {
    Tensor x = full({4}, DType::float32, 1);
    all_reduce(mul(x, x), ReduceOp::sum, ProcessGroup::world());
  });
  std::vector<ChakraTrace> graphs;
  for (const RankTrace& rank : recording.job.ranks) graphs.push_back(to_chakra(rank));
  TraceJob job = job_of_graphs(graphs);
  JobReport before = report_job(recording.job, std::nullopt);
  JobReport after = report_job(job, std::nullopt);
  EXPECT_EQ(after.failed(), 0u);
  EXPECT_EQ(after.run->communications, before.run->communications);
  EXPECT_EQ(after.run->data_hash, before.run->data_hash);
}

// Would fail if a graph without an order were replayed as far as it goes.
TEST(FromChakra, SaysWhatHasNoOrder) {
  ChakraTrace trace = graph_of({ChakraCommType::all_reduce, ChakraCommType::all_reduce});
  trace.nodes[0].data_deps = {8};
  Findings findings;
  execution_trace_json(trace, {}, findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].rule, "chakra_cycle");
  trace.nodes[0].data_deps = {99};
  trace.nodes[1].id = 7;
  trace.nodes[1].data_deps = {};
  findings.clear();
  execution_trace_json(trace, {}, findings);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].rule, "duplicate_id");
  EXPECT_EQ(findings[1].rule, "chakra_dependency");
}

TEST(FromChakra, ReadsListsOfPython) {
  EXPECT_EQ(json_list("[[1, 'cuda:0', None], (True, False)]"),
            R"([[1,"cuda:0",null],[true,false]])");
  EXPECT_EQ(json_list(R"([1, "a"])"), R"([1,"a"])");
  EXPECT_EQ(json_list("<Object>"), "[]");
}

}  // namespace
}  // namespace simmesh::replay
