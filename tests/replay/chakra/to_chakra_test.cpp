#include "replay/chakra/to_chakra.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/ranks/annotation.h"
#include "core/ops/elementwise/pointwise.h"
#include "replay/chakra/chakra_order.h"
#include "replay/record/record_run.h"

namespace simmesh::replay {
namespace {

const ChakraNode& node_named(const ChakraTrace& trace, std::string_view name,
                             std::size_t number = 0) {
  for (const ChakraNode& node : trace.nodes)
    if (node.name == name && number-- == 0) return node;
  ADD_FAILURE() << "no node " << name;
  return trace.nodes.front();
}

const ChakraNode& collective_node(const ChakraTrace& trace, std::size_t number) {
  return node_named(trace, "record_param_comms", number);
}

bool needs(const ChakraNode& node, const ChakraNode& other) {
  return std::count(node.data_deps.begin(), node.data_deps.end(), other.id) == 1;
}

ChakraTrace graph_of_run(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  Recording recording = record_run(world, body);
  EXPECT_TRUE(recording.outcome.ok()) << report(recording.outcome);
  return to_chakra(recording.job.ranks.back());
}

TEST(ToChakra, LetsConsumersWaitForProducers) {
  ChakraTrace trace = graph_of_run(2, [](Rank&) {
    Annotation step = Annotation::step(0);
    Tensor x = full({4}, DType::float32, 1);
    Tensor y = mul(x, x);
    Work work = all_reduce_async(y, ReduceOp::sum, ProcessGroup::world());
    Tensor other = neg(x);
    Tensor sum = work.wait();
    add(sum, other);
    barrier(ProcessGroup::world());
  });
  const ChakraNode& mul = node_named(trace, "aten::mul");
  const ChakraNode& neg = node_named(trace, "aten::neg");
  const ChakraNode& add = node_named(trace, "aten::add");
  const ChakraNode& start = collective_node(trace, 0);
  const ChakraNode& wait = collective_node(trace, 1);
  const ChakraNode& barrier = collective_node(trace, 2);
  const ChakraNode& step = node_named(trace, "ProfilerStep#0");
  EXPECT_TRUE(mul.data_deps.empty());
  EXPECT_TRUE(neg.data_deps.empty());
  EXPECT_TRUE(needs(start, mul));
  EXPECT_TRUE(needs(wait, start));
  EXPECT_TRUE(needs(add, wait));
  EXPECT_TRUE(needs(add, neg));
  EXPECT_TRUE(needs(barrier, start));
  EXPECT_EQ(add.ctrl_deps, std::vector<std::uint64_t>{step.id});
  EXPECT_EQ(step.type, ChakraNodeType::metadata);
  EXPECT_TRUE(step.is_cpu_op());
  EXPECT_EQ(mul.type, ChakraNodeType::comp);
  EXPECT_EQ(*mul.find("tensor_size"), ChakraValue(std::int64_t(48)));
  EXPECT_EQ(start.type, ChakraNodeType::comm_coll);
  EXPECT_EQ(*start.find("comm_type"), ChakraValue(std::int64_t(0)));
  EXPECT_EQ(*start.find("comm_size"), ChakraValue(std::int64_t(16)));
  EXPECT_EQ(*start.find("pg_name"), ChakraValue(std::string("0")));
  EXPECT_EQ(wait.type, ChakraNodeType::metadata);
  EXPECT_EQ(*barrier.find("comm_type"), ChakraValue(std::int64_t(9)));
  EXPECT_EQ(chakra_order(trace).size(), trace.nodes.size());
}

// An op that overwrites a tensor must wait for those that still read it.
TEST(ToChakra, LetsWritersWaitForReaders) {
  ChakraTrace trace = graph_of_run(1, [](Rank&) {
    Tensor x = full({4}, DType::float32, 1);
    neg(x);
    add_(x, x);
    mul(x, x);
  });
  const ChakraNode& written = node_named(trace, "aten::add_");
  EXPECT_TRUE(needs(written, node_named(trace, "aten::neg")));
  EXPECT_TRUE(needs(node_named(trace, "aten::mul"), written));
}

TEST(ToChakra, NamesRanksOfMessagesInTheWorld) {
  ChakraTrace trace = graph_of_run(3, [](Rank& rank) {
    if (rank.id() == 0) return;
    ProcessGroup pair = ProcessGroup::of(RankList::of({1, 2}), "pair");
    Tensor x = full({4}, DType::float64, 1);
    if (rank.id() == 1)
      recv(x.shape(), x.dtype(), {.peer = 1, .tag = 5}, pair);
    else
      send(x, {.peer = 0, .tag = 5}, pair);
  });
  const ChakraNode& sent = collective_node(trace, 0);
  EXPECT_EQ(sent.type, ChakraNodeType::comm_send);
  EXPECT_EQ(*sent.find("comm_src"), ChakraValue(std::int64_t(2)));
  EXPECT_EQ(*sent.find("comm_dst"), ChakraValue(std::int64_t(1)));
  EXPECT_EQ(*sent.find("comm_tag"), ChakraValue(std::int64_t(5)));
  EXPECT_EQ(*sent.find("comm_size"), ChakraValue(std::int64_t(32)));
}

}  // namespace
}  // namespace simmesh::replay
