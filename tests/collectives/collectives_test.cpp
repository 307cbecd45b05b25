#include "collectives/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/fabric.h"
#include "collectives/group.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor operand(std::uint64_t rank, Shape shape = {4, 6}) {
  return formula(shape, {.rule = Rule::wide, .seed = 1 + rank});
}

// The left fold in group order, element by element.
Tensor folded(std::size_t ranks) {
  Tensor sum = operand(0).clone();
  auto out = sum.mutable_values<float>();
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    Tensor next = operand(rank);
    auto values = next.values<float>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += values[i];
  }
  return sum;
}

TEST(Collectives, AllReduceFoldsInGroupOrderUnderEverySchedule) {
  for (std::size_t ranks : {1, 2, 3, 8})
    run_every_schedule(ranks, [=](Rank& rank) {
      Tensor sum = all_reduce(operand(rank.id()), ReduceOp::sum, ProcessGroup::world());
      rank.expect_same_bits(sum, folded(ranks));
    });
}

TEST(Collectives, GatherAndScatterAreInverse) {
  for (std::int64_t dim : {0, 1})
    run_every_schedule(2, [=](Rank& rank) {
      ProcessGroup world = ProcessGroup::world();
      Tensor whole = all_gather(operand(rank.id()), {.dim = dim}, world);
      Tensor own =
          whole.narrow({dim, std::int64_t(rank.id()) * operand(0).size(dim), operand(0).size(dim)});
      rank.expect_same_bits(own, operand(rank.id()));
      Tensor back = reduce_scatter(whole, ReduceOp::max, {.dim = dim}, world);
      rank.expect_same_bits(back, operand(rank.id()));
    });
}

TEST(Collectives, UnevenPiecesAreGatheredAsTheyAre) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor piece = operand(rank.id(), {std::int64_t(rank.id()), 2});
    Tensor whole = all_gather(piece, {.dim = 0, .uneven = true}, world);
    EXPECT_EQ(whole.shape(), (Shape{3, 2}));
    rank.expect_same_bits(whole.narrow({0, 1, 2}), operand(2, {2, 2}));
    auto list = all_gather_list(piece, world);
    rank.expect_same_bits(list[2], operand(2, {2, 2}));
  });
}

TEST(Collectives, RootedFormsMoveWhatTheRootHas) {
  run_every_schedule(4, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    rank.expect_same_bits(broadcast(operand(rank.id()), 2, world), operand(2));
    std::vector<Tensor> pieces;
    if (rank.id() == 1)
      for (std::uint64_t i = 0; i < 4; ++i) pieces.push_back(operand(10 + i));
    rank.expect_same_bits(scatter(pieces, 1, world), operand(10 + rank.id()));
    auto gathered = gather(operand(rank.id()), 3, world);
    EXPECT_EQ(gathered.size(), rank.id() == 3 ? 4u : 0u);
    Tensor sum = reduce(operand(rank.id()), ReduceOp::sum, 0, world);
    EXPECT_EQ(sum.is_defined(), rank.id() == 0);
    if (sum.is_defined()) rank.expect_same_bits(sum, folded(4));
    EXPECT_EQ(broadcast_object(rank.id() == 1 ? "from one" : "", 1, world), "from one");
  });
}

TEST(Collectives, AllToAllTransposesTheWorld) {
  run_every_schedule(3, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor rows = full({3, 2}, DType::int32, rank.id());
    Tensor moved = all_to_all(rows, {.scatter_dim = 0, .gather_dim = 0}, world);
    for (std::int32_t i = 0; i < 6; ++i)
      EXPECT_EQ(moved.values<std::int32_t>()[std::size_t(i)], i / 2);
    // Rank r sends r rows to everybody.
    auto r = std::int64_t(rank.id());
    Tensor uneven = full({3 * r}, DType::int32, rank.id());
    Tensor came = all_to_all_single(uneven, {.input = {r, r, r}, .output = {0, 1, 2}}, world);
    EXPECT_EQ(to_string(came), "int32[3] {1, 2, 2}");
  });
}

TEST(Collectives, ResultsAreSharedUntilOneRankWrites) {
  World world({.ranks = 4});
  Outcome outcome = world.run([](Rank& rank) {
    ProcessGroup group = ProcessGroup::world();
    Tensor sum = all_reduce(operand(rank.id()), ReduceOp::sum, group);
    if (rank.id() == 1) sum.mutable_values<float>()[0] = 7;
    barrier(group);
    if (rank.id() != 1) rank.expect_same_bits(sum, folded(4));
    EXPECT_EQ(rank.ledger().copies_on_write(), rank.id() == 1 ? 1u : 0u);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_EQ(outcome.live_storages, 0);
}

// One buffer is written for all ranks, however many there are; a real fabric would move 2(n-1)
// times the operand.
TEST(Collectives, BytesAreCountedBothWays) {
  World world({.ranks = 8});
  Outcome outcome = world.run([](Rank& rank) {
    all_reduce(zeros({256}, DType::float32), ReduceOp::sum, ProcessGroup::world());
    rank.run().take_turn(rank);
    const CollectiveCounts& counts = rank.run().state<GroupTable>().counts();
    EXPECT_EQ(counts.copied_bytes, 1024u);
    EXPECT_EQ(counts.of(CollectiveOp::all_reduce).calls, 8u);
    EXPECT_EQ(counts.of(CollectiveOp::all_reduce).fabric_bytes, 2u * 7u * 1024u);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

TEST(Collectives, InPlaceFormsWriteThroughViews) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    Tensor base = zeros({4, 6}, DType::float32);
    Tensor view = base.narrow({.dim = 1, .start = 2, .length = 3});
    copy_(view, full({4, 3}, DType::float32, 1 + rank.id()));
    all_reduce_(view, ReduceOp::sum, world);
    rank.expect_same_bits(view.contiguous(), full({4, 3}, DType::float32, 3));
    EXPECT_EQ(base.values<float>()[0], 0);
  });
}

TEST(Collectives, CoalescedFormsGiveEachTensorItsResult) {
  run_every_schedule(2, [](Rank& rank) {
    ProcessGroup world = ProcessGroup::world();
    std::vector<Tensor> inputs = {operand(rank.id()), operand(rank.id(), {2})};
    auto sums = all_reduce_coalesced(inputs, ReduceOp::sum, world);
    auto gathered = all_gather_coalesced(inputs, world);
    auto scattered = reduce_scatter_coalesced(inputs, ReduceOp::sum, world);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      rank.expect_same_bits(sums[i], all_reduce(inputs[i], ReduceOp::sum, world));
      rank.expect_same_bits(gathered[i], all_gather(inputs[i], {.dim = 0}, world));
      rank.expect_same_bits(scattered[i],
                            reduce_scatter(inputs[i], ReduceOp::sum, {.dim = 0}, world));
    }
    rank.expect_same_bits(sums[0], folded(2));
  });
}

TEST(Collectives, ThePremultipliedSumScalesFirst) {
  run_every_schedule(2, [](Rank& rank) {
    Tensor sum = all_reduce(full({3}, DType::float32, 1 + rank.id()), ReduceWith::premul_sum(0.5),
                            ProcessGroup::world());
    rank.expect_same_bits(sum, full({3}, DType::float32, 1.5));
  });
}

// The sums of two ranks double a saved tensor: its gradient would be that of the sum.
TEST(Collectives, InPlaceFormsOfASavedTensorAreRefusedInBackward) {
  for (bool is_all_reduce : {true, false})
    run_every_schedule(2, [=](Rank&) {
      ProcessGroup world = ProcessGroup::world();
      Tensor x = full({2}, DType::float32, 4);
      set_requires_grad(x);
      Tensor saved = mul(x, 1.0);
      Tensor loss = sum(mul(saved, saved));
      Tensor view = saved.detach();
      if (is_all_reduce)
        all_reduce_(view, ReduceOp::sum, world);
      else
        broadcast_(view, 0, world);
      testing::expect_error([&] { backward(loss); }, ErrorKind::runtime_error,
                            "modified by an inplace operation");
    });
}

}  // namespace
}  // namespace simmesh
