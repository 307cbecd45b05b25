#include "zero/stage3/quantized_reduce.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "zero/fetch/event.h"

namespace simmesh::zero {
namespace {

TEST(QuantizedReduce, SendsPartsInHopOrder) {
  EXPECT_EQ(hop_order(2, 4), (std::vector<std::int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(hop_order(1, 3), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(QuantizedReduce, SaysWhichGradientsItTakes) {
  EXPECT_TRUE(can_reduce_quantized(Shape{4, 4}, 8));
  EXPECT_FALSE(can_reduce_quantized(Shape{16}, 8));
  EXPECT_FALSE(can_reduce_quantized(Shape{3, 4}, 8));
  EXPECT_FALSE(can_reduce_quantized(Shape{0, 4}, 8));
}

// Values that four bits hold: every rank's part must be exactly the mean, in every split of eight
// ranks into nodes. A wrong order of parts or a wrong divisor changes it.
SIMMESH_TEST(QuantizedReduce, AveragesOverAllRanks, {.mesh = {8}, .schedules = 6}) {
  ProcessGroup world = ProcessGroup::world();
  for (std::int64_t per_node : {1, 2, 4, 8}) {
    NodeGroups groups = NodeGroups::of(world, per_node);
    Tensor gradient = empty({8, 4}, DType::float32);
    auto values = gradient.mutable_values<float>();
    // Part i of four elements is -8 and i, twice: sums over ranks stay multiples of a scale of 1.
    for (std::size_t i = 0; i < 32; ++i) {
      std::size_t part = i / 4;
      values[i] = i % 2 == 0 ? -8.0f : float(part) - 4.0f;
    }
    Tensor mean = reduce_quantized(gradient, groups);
    auto got = mean.values<float>();
    EXPECT_EQ(mean.numel(), 4);
    EXPECT_EQ(got[0], -8.0f);
    EXPECT_EQ(got[1], float(mesh.get_rank()) - 4.0f);
  }
}

// The bound: each hop errs by a step of 1/8 of the largest magnitude, and float16 by little.
SIMMESH_TEST(QuantizedReduce, ErrsLittle, {.mesh = {4}, .schedules = 4}) {
  ProcessGroup world = ProcessGroup::world();
  NodeGroups groups = NodeGroups::of(world, 2);
  std::vector<float> mean(24, 0.0f);
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    Tensor each = formula({6, 4}, {.rule = Rule::unit, .seed = 70 + rank});
    for (std::size_t i = 0; i < 24; ++i) mean[i] += each.values<float>()[i] / 4;
  }
  Tensor own = formula({6, 4}, {.rule = Rule::unit, .seed = 70 + std::uint64_t(mesh.get_rank())});
  Tensor part = reduce_quantized(own, groups);
  ASSERT_EQ(part.numel(), 6);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(part.values<float>()[i], mean[std::size_t(mesh.get_rank()) * 6 + i], 0.3);
}

// If this fails, the exchanges of a reduction aren't in the record: of a tensor of 8 x 4 elements
// on two nodes of two ranks, its codes and scales within the node, and of half of it across.
SIMMESH_TEST(QuantizedReduce, IsInTheRecord, {.mesh = {4}, .schedules = 2}) {
  std::vector<std::string> seen;
  {
    ObserverScope observer([&](const Event& event) {
      seen.push_back(fmt::format("{} {} {} {},{}", event.name, event.numel, event.dtype,
                                 event.ranks.at(0), event.ranks.at(1)));
    });
    reduce_quantized(formula({8, 4}, {.rule = Rule::unit, .seed = 1}),
                     NodeGroups::of(ProcessGroup::world(), 2));
  }
  std::int64_t rank = mesh.get_rank(), node = rank / 2 * 2, place = rank % 2;
  EXPECT_EQ(seen, (std::vector<std::string>{
                      fmt::format("all_to_all_single 16 uint8 {},{}", node, node + 1),
                      fmt::format("all_to_all_single 8 float32 {},{}", node, node + 1),
                      fmt::format("all_to_all_single 8 uint8 {},{}", place, place + 2),
                      fmt::format("all_to_all_single 4 float32 {},{}", place, place + 2)}));
}

TEST(QuantizedReduce, RefusesNodesThatDoNotFit) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank&) {
    EXPECT_THROW(NodeGroups::of(ProcessGroup::world(), 3), Error);
    NodeGroups groups = NodeGroups::of(ProcessGroup::world(), 2);
    EXPECT_THROW(reduce_quantized(zeros({8}, DType::float32), groups), Error);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh::zero
