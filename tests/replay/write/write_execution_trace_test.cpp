#include "replay/write/write_execution_trace.h"

#include <fstream>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/engine/ranks/annotation.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "replay/read/read_execution_trace.h"
#include "replay/record/record_run.h"
#include "replay/trace/trace_json.h"
#include "tests/expect_error.h"
#include "tests/temporary_folder.h"

namespace simmesh::replay {
namespace {

Recording record_step() {
  World world({.ranks = 2});
  return record_run(world, [](Rank&) {
    Annotation step = Annotation::step(0);
    Tensor weight = full({3, 2}, DType::float32, 0.5);
    set_requires_grad(weight);
    Tensor loss = sum(matmul(full({4, 3}, DType::float32, 1), weight));
    backward({&loss, 1});
    all_reduce(grad_of(weight), ReduceOp::avg, ProcessGroup::world());
  });
}

ExecutionTrace read_again(const ExecutionTrace& trace) {
  std::string text = to_json(trace);
  TextSource source("rank-0.json", text);
  return read_execution_trace(source);
}

// A reader gets exactly what was written, to the last number.
TEST(WriteExecutionTrace, IsReadAsItWas) {
  Recording recording = record_step();
  ASSERT_TRUE(recording.outcome.ok()) << report(recording.outcome);
  for (const RankTrace& rank : recording.job.ranks) {
    ExecutionTrace read = read_again(rank.trace);
    EXPECT_TRUE(read.findings.empty()) << to_string(read.findings.front());
    EXPECT_EQ(summary_json(summarize(read)).text(), summary_json(summarize(rank.trace)).text());
    ReplayList list = replay_list(read, tree_of(read));
    EXPECT_EQ(comm_list_json(read, list).text(),
              comm_list_json(rank.trace, replay_list(rank.trace, tree_of(rank.trace))).text());
    ASSERT_EQ(read.nodes.size(), rank.trace.nodes.size());
    for (std::size_t i = 0; i < read.nodes.size(); ++i) {
      const TraceNode& is = read.nodes[i];
      const TraceNode& was = rank.trace.nodes[i];
      EXPECT_EQ(read.text(is.op_schema), rank.trace.text(was.op_schema));
      EXPECT_EQ(is.attributes.size(), was.attributes.size()) << is.id;
      EXPECT_EQ((std::vector{is.id, is.parent, is.thread, is.scope, is.sequence, is.record_function,
                             is.forward_parent, is.forward_thread}),
                (std::vector{was.id, was.parent, was.thread, was.scope, was.sequence,
                             was.record_function, was.forward_parent, was.forward_thread}));
    }
  }
}

// A trace that PyTorch wrote keeps its communications.
TEST(WriteExecutionTrace, WritesTracesThatWereRead) {
  ExecutionTrace trace = read_execution_trace(
      std::string(SIMMESH_SOURCE_DIR "/tests/cases/replay/generated/comms4/rank-2.json.gz"));
  ExecutionTrace again = read_again(trace);
  EXPECT_TRUE(again.findings.empty());
  EXPECT_EQ(comm_list_json(again, replay_list(again, tree_of(again))).text(),
            comm_list_json(trace, replay_list(trace, tree_of(trace))).text());
  EXPECT_EQ(again.tensors.size(), trace.tensors.size());
}

TEST(WriteExecutionTrace, WritesAFileARank) {
  simmesh::testing::TemporaryFolder folder;
  Recording recording = record_step();
  std::string path = folder.path().string() + "/traces";
  write_job(recording.job, path);
  TraceJob read = read_job({{path}});
  ASSERT_EQ(read.ranks.size(), 2);
  EXPECT_EQ(read.find(1)->trace.nodes.size(), recording.job.find(1)->trace.nodes.size());
  write_execution_trace(path + "/plain.json", recording.job.ranks[0].trace);
  std::ifstream file(path + "/plain.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            to_json(recording.job.ranks[0].trace));
}

TEST(WriteExecutionTrace, RefusesWhatTheSchemaCantSay) {
  ExecutionTrace trace = std::move(record_step().job.ranks[0].trace);
  trace.has_strides = false;
  simmesh::testing::expect_error([&] { to_json(trace); }, ErrorKind::value_error,
                                 "expected a trace with strides");
}

}  // namespace
}  // namespace simmesh::replay
