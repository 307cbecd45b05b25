#include "sharding/debug/debug_mode.h"

#include "core/autograd/backward.h"
#include "core/nn/mlp.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

Tensor numbers(Shape shape, std::uint64_t seed) {
  return formula(shape, {.rule = Rule::small, .seed = seed});
}

std::vector<DebugCall> calls_of_product(const DeviceMesh& mesh, std::uint64_t seed) {
  DTensor x = distribute_tensor(numbers({8, 4}, 1), mesh, {Shard(0)});
  DTensor w = distribute_tensor(numbers({4, 6}, seed), mesh, {Shard(0)});
  DebugMode mode;
  neg(mm(x, w));
  return mode.calls();
}

// A trace leaves out a redistribution or a collective, or names another op.
SIMMESH_TEST(DebugMode, TellsWhereOpsRanAndWhatItTook, {.mesh = {2}, .schedules = 6}) {
  std::vector<DebugCall> calls = calls_of_product(mesh, 2);
  EXPECT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].op, "mm");
  EXPECT_EQ(calls[0].given,
            (std::vector<std::string>{"float32[8, 4](S(0))", "float32[4, 6](S(0))"}));
  EXPECT_EQ(calls[0].redistributed, std::vector<std::string>{"input 1: S(0) -> R"});
  EXPECT_EQ(calls[0].collectives, std::vector<std::string>{"all_gather of float32[2, 6]"});
  EXPECT_EQ(calls[0].outputs, std::vector<std::string>{"float32[8, 6](S(0))"});
  EXPECT_EQ(calls[1].op, "neg");
  EXPECT_TRUE(calls[1].collectives.empty());
}

// Two runs whose bits part are called equal, or the wrong op is blamed.
SIMMESH_TEST(DebugMode, NamesTheFirstCallWhoseBitsDiffer, {.mesh = {2}, .schedules = 6}) {
  std::vector<DebugCall> expected = calls_of_product(mesh, 2);
  EXPECT_EQ(first_difference(calls_of_product(mesh, 2), expected), "");
  std::string difference = first_difference(calls_of_product(mesh, 3), expected);
  EXPECT_TRUE(difference.starts_with("call 0 differs in its bits")) << difference;
  std::vector<DebugCall> fewer(expected.begin(), expected.begin() + 1);
  EXPECT_EQ(first_difference(fewer, expected), "expected 2 calls, got 1");
  std::vector<DebugCall> other = expected;
  other[1].op = "abs";
  EXPECT_TRUE(first_difference(other, expected).starts_with("call 1 is another one"));
}

// A call in a module's backward pass is reported as one of its forward, or of its neighbour.
SIMMESH_TEST(DebugMode, TellsTheModuleOfACall, {.mesh = {2}, .schedules = 6}) {
  nn::ModulePtr model = nn::make_mlp({.width = 4, .hidden = 6, .out = 2});
  parallelize(*model, mesh, {{"fc1", ColwiseParallel()}, {"fc2", RowwiseParallel()}});
  DebugMode mode(*model);
  Tensor y = (*model)(numbers({3, 4}, 1));
  backward(y, {.gradients = {numbers({3, 2}, 2)}});
  std::vector<std::string> products;
  for (const DebugCall& call : mode.calls())
    if (call.op == "addmm" || call.op == "mm") products.push_back(to_string(call.module));
  EXPECT_EQ(products.front(), "fc1 forward");
  EXPECT_EQ(products.back(), "fc1 backward");
  EXPECT_NE(std::find(products.begin(), products.end(), "fc2 backward"), products.end());
}

}  // namespace
}  // namespace simmesh
