#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"
#include "tests/core/engine/spread/run_spread.h"

namespace simmesh {
namespace {

using SpreadBody = std::function<void(Rank&)>;

Tensor values_of(const Rank& rank, DimSpan shape, DType dtype = DType::float32) {
  return formula(shape, {.rule = Rule::unit, .seed = rank.id() + 1, .dtype = dtype});
}

// Runs a body in one process and in several, and expects the same hashes and bytes.
void expect_same_spread(const SpreadBody& body, const WorldOptions& options = {.ranks = 4},
                        const WorldSpread::OwnerOf& owner_of = nullptr) {
  std::string expected = both_hashes(World(options).run(body));
  ASSERT_EQ(expected.find("failed"), std::string::npos) << expected;
  for (int count : owner_of ? std::vector{2, 3} : std::vector{1, 2, 3, 4})
    EXPECT_EQ(
        run_spread(
            count, [&](WorldSpread&) { return both_hashes(World(options).run(body)); }, owner_of),
        expected)
        << count << " processes";
}

// A sum of operands of several processes would have another order or other operands.
TEST(SpreadTransport, AllReduceHasTheBitsOfOneProcess) {
  for (std::int64_t count : {0, 1, 3, 5, 20'000})
    expect_same_spread([=](Rank& rank) {
      rank.record(
          all_reduce(values_of(rank, DimSpan({count})), ReduceOp::sum, ProcessGroup::world()));
    });
}

// A collective would give a member of another process other bytes than one of its own.
TEST(SpreadTransport, EveryCollectiveHasTheBitsOfOneProcess) {
  for (std::int64_t rows : {4, 8, 2048})
    expect_same_spread([=](Rank& rank) {
      const ProcessGroup group = ProcessGroup::world();
      Tensor x = values_of(rank, DimSpan({rows, 12}));
      std::vector<Tensor> pair = {x, values_of(rank, DimSpan({3}), DType::float64)};
      for (const Tensor& sum : all_reduce_coalesced(pair, ReduceOp::avg, group)) rank.record(sum);
      rank.record(all_gather(x, {.dim = 1}, group));
      for (const Tensor& piece : all_gather_list(x, group)) rank.record(piece);
      rank.record(reduce_scatter(x, ReduceOp::sum, {.dim = 0}, group));
      rank.record(broadcast(x, 2, group));
      if (Tensor sum = reduce(x, ReduceOp::max, 3, group); sum.is_defined()) rank.record(sum);
      std::vector<Tensor> pieces;
      if (rank.id() == 1)
        for (int i = 0; i < 4; ++i) pieces.push_back(x.narrow({0, i, 1}));
      rank.record(scatter(pieces, 1, group));
      for (const Tensor& piece : gather(x, 0, group)) rank.record(piece);
      rank.record(all_to_all(x, {.scatter_dim = 0, .gather_dim = 1}, group));
      pieces.clear();
      for (int i = 0; i < 4; ++i) pieces.push_back(x.narrow({0, i, 1}));
      for (const Tensor& piece : all_to_all_list(pieces, group)) rank.record(piece);
    });
}

// Uneven pieces, splits and rows that aren't contiguous would be cut at other places.
TEST(SpreadTransport, UnevenPiecesHaveTheBitsOfOneProcess) {
  expect_same_spread([](Rank& rank) {
    const ProcessGroup group = ProcessGroup::world();
    auto id = std::int64_t(rank.id());
    Tensor x = values_of(rank, DimSpan({7, 5})).transpose(0, 1);
    rank.record(all_gather(x.narrow({0, 0, id}), {.dim = 0, .uneven = true}, group));
    rank.record(reduce_scatter(x, ReduceOp::sum, {.dim = 1, .uneven = true}, group));
    Dims input = {id, 0, 1, 2}, output;
    for (std::int64_t from = 0; from < 4; ++from)
      output.push_back(id == 0 ? from : id == 1 ? 0 : id == 2 ? 1 : 2);
    Tensor rows = values_of(rank, DimSpan({id + 3, 2}));
    rank.record(all_to_all_single(rows, {input, output}, group));
  });
}

// An order in which the place of an element counts would be cut elsewhere; an exact sum would be
// rounded on its way.
TEST(SpreadTransport, EveryArithmeticHasTheBitsOfOneProcess) {
  for (const Arithmetic& arithmetic :
       {Arithmetic::canonical(), Arithmetic::rank_order(), Arithmetic::exact(),
        Arithmetic::as_nccl_ring({.channels = 2, .chunk_bytes = 64}),
        Arithmetic::as_nccl_tree({.ranks_per_host = 2, .channels = 2}), Arithmetic::as_gloo_ring()})
    for (std::int64_t count : {40, 4800})
      expect_same_spread(
          [=](Rank& rank) {
            const ProcessGroup group = ProcessGroup::world();
            Tensor x = values_of(rank, DimSpan({count}));
            for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
              rank.record(all_reduce(x, op, group));
              rank.record(reduce_scatter(x, op, {.dim = 0}, group));
            }
            rank.record(all_reduce(x, ReduceWith::premul_sum(0.3), group));
          },
          {.ranks = 4, .arithmetic = arithmetic});
}

// A message to a rank of another process would be lost or doubled.
TEST(SpreadTransport, MessagesAndObjectsHaveTheBytesOfOneProcess) {
  expect_same_spread([](Rank& rank) {
    const ProcessGroup group = ProcessGroup::world();
    auto id = std::int64_t(rank.id());
    Tensor x = values_of(rank, DimSpan({5}));
    Work sent = isend(x, {.peer = (id + 1) % 4}, group);
    rank.record(recv(DimSpan({5}), DType::float32, {.peer = (id + 3) % 4}, group).tensor);
    sent.wait();
    std::string object = broadcast_object(std::string(std::size_t(id) + 3, 'a'), 2, group);
    rank.record(object.size());
  });
}

// A group within one process, or one of some processes, would be taken for one of all.
TEST(SpreadTransport, GroupsOfSomeProcessesHaveTheBitsOfOneProcess) {
  auto body = [](Rank& rank) {
    Tensor x = values_of(rank, DimSpan({6000}));
    std::int64_t half = std::int64_t(rank.id()) / 2 * 2, odd = std::int64_t(rank.id()) % 2;
    ProcessGroup neighbours = ProcessGroup::of(RankList::of({half, half + 1}));
    ProcessGroup apart = ProcessGroup::of(RankList::of({odd, odd + 2}));
    rank.record(all_reduce(x, ReduceOp::sum, neighbours));
    rank.record(all_reduce(x, ReduceOp::sum, apart));
  };
  expect_same_spread(body);
  expect_same_spread(body, {.ranks = 4},
                     [](const WorldSpread::RankOfWorld& rank) { return int(rank.rank % 2); });
}

}  // namespace
}  // namespace simmesh
