#include "replay/record/rank_recorder.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "replay/record/record_run.h"
#include "replay/trace/replay_list.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::replay {
namespace {

const TraceNode& trace_node(const ExecutionTrace& trace, std::string_view name) {
  for (const TraceNode& node : trace.nodes)
    if (trace.text(node.name) == name) return node;
  ADD_FAILURE() << "no node " << name;
  return trace.nodes.front();
}

std::string text_attribute(const ExecutionTrace& trace, const TraceNode& node,
                           std::string_view name) {
  for (const TraceAttribute& attribute : trace.attributes_in(node.attributes))
    if (trace.text(attribute.name) == name)
      return std::string(trace.text(std::get<TextId>(attribute.value)));
  return "none";
}

TraceJob record_ranks(std::size_t ranks, const std::function<void()>& body) {
  World world({.ranks = ranks});
  Recording recording = record_run(world, [&](Rank&) { body(); });
  EXPECT_TRUE(recording.outcome.ok()) << report(recording.outcome);
  return std::move(recording.job);
}

TEST(RankRecorder, TiesBackwardToForward) {
  TraceJob job = record_ranks(1, [] {
    Annotation step = Annotation::step(2);
    Tensor weight = full({3, 2}, DType::float32, 0.5);
    set_requires_grad(weight);
    Tensor product = mm(full({4, 3}, DType::float32, 1), weight);
    Tensor loss = sum(product);
    backward({&loss, 1});
  });
  const ExecutionTrace& trace = job.ranks[0].trace;
  const TraceNode& step = trace_node(trace, "ProfilerStep#2");
  const TraceNode& forward = trace_node(trace, "aten::mm");
  EXPECT_EQ(step.scope, user_scope);
  EXPECT_EQ(forward.parent, step.id);
  EXPECT_EQ(forward.thread, 1);
  EXPECT_EQ(trace.text(forward.op_schema), "aten::mm(Tensor input0, Tensor input1) -> Tensor");
  EXPECT_EQ(text_attribute(trace, forward, "input_requires_grad"), "[false, true]");
  EXPECT_EQ(text_attribute(trace, forward, "output_requires_grad"), "[true]");
  EXPECT_EQ(text_attribute(trace, forward, "input_placements"), "none");
  bool is_tied = false;
  for (const TraceNode& node : trace.nodes) {
    if (node.scope != backward_scope) continue;
    EXPECT_EQ(node.thread, 2);
    EXPECT_TRUE(trace.text(node.op_schema).empty());
    is_tied |= node.forward_parent == forward.id && node.sequence == forward.sequence &&
               node.forward_thread == 1;
  }
  EXPECT_TRUE(is_tied);
  ReplayList list = replay_list(trace, tree_of(trace));
  ASSERT_EQ(list.steps.size(), 1);
  bool has_backward_op = false;
  for (std::uint32_t index : list.operators) has_backward_op |= trace.nodes[index].thread == 2;
  EXPECT_TRUE(has_backward_op);
}

// For an op on distributed tensors ranks run the local op and the communication, so these are in
// the replay list.
TEST(RankRecorder, KeepsPlacementsAboveWhatRanksRun) {
  TraceJob job = record_ranks(2, [] {
    DeviceMesh mesh = init_device_mesh({2}, {"tp"});
    DTensor x = distribute_tensor(full({4, 6}, DType::float32, 1), mesh, {Shard(1)});
    DTensor w = distribute_tensor(full({6, 2}, DType::float32, 1), mesh, {Shard(0)});
    DTensor y = mm(x, w);
    add(y.redistribute({Replicate()}), y.redistribute({Replicate()}));
  });
  const ExecutionTrace& trace = job.ranks[1].trace;
  const TraceNode& spread = trace_node(trace, "aten::mm");
  EXPECT_TRUE(trace.text(spread.op_schema).empty());
  EXPECT_EQ(text_attribute(trace, spread, "input_placements"), "[\"S(1)\", \"S(0)\"]");
  EXPECT_EQ(text_attribute(trace, spread, "output_placements"), "[\"P(sum)\"]");
  auto shape = trace.numbers_in(trace.tensors_in(spread.inputs)[0].shape);
  EXPECT_EQ(std::vector(shape.begin(), shape.end()), (std::vector<std::int64_t>{4, 6}));
  EXPECT_FALSE(trace.tensors_in(spread.inputs)[0].is_defined);
  bool has_local = false, has_communication = false;
  for (std::uint32_t index : replay_list(trace, tree_of(trace)).operators) {
    const TraceNode& node = trace.nodes[index];
    has_local |= node.parent == spread.id && trace.text(node.name) == "aten::mm";
    has_communication |= node.comm && trace.text(trace.comm_of(node)->name) == "allreduce";
  }
  EXPECT_TRUE(has_local);
  EXPECT_TRUE(has_communication);
}

TEST(RankRecorder, RecordsWhatIsNoTensor) {
  TraceJob job = record_ranks(1, [] { sum(full({4, 3}, DType::float32, 1), 1, true); });
  const ExecutionTrace& trace = job.ranks[0].trace;
  const TraceNode& node = trace_node(trace, "aten::sum");
  std::string arguments;
  for (std::uint32_t i = node.arguments.begin; i < node.arguments.end; ++i)
    arguments +=
        fmt::format("{} {} {};", trace.arguments[i].position, trace.text(trace.arguments[i].type),
                    trace.text(trace.arguments[i].value));
  EXPECT_NE(arguments.find("GenericList[Int] [1];"), std::string::npos) << arguments;
  EXPECT_NE(arguments.find("Bool true;"), std::string::npos) << arguments;
  EXPECT_EQ(node.integer_lists.size(), 1);
}

// An op that raises leaves the tree in order.
TEST(RankRecorder, GoesOnAfterAnOpThatRaised) {
  TraceJob job = record_ranks(1, [] {
    Tensor x = full({2}, DType::float32, 1);
    EXPECT_ANY_THROW(mm(x, x));
    neg(x);
  });
  const ExecutionTrace& trace = job.ranks[0].trace;
  EXPECT_EQ(trace_node(trace, "aten::neg").parent, trace_node(trace, "aten::mm").parent);
}

TEST(RankRecorder, LeavesOutWhatIsPaused) {
  TraceJob job = record_ranks(1, [] {
    Tensor x = full({2}, DType::float32, 1);
    neg(x);
    {
      Watch::Pause pause;
      mul(x, x);
    }
    neg(x);
  });
  const ExecutionTrace& trace = job.ranks[0].trace;
  EXPECT_EQ(replay_list(trace, tree_of(trace)).operators.size(), 2);
}

}  // namespace
}  // namespace simmesh::replay
