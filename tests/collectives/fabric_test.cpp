#include "collectives/fabric.h"

#include <gtest/gtest.h>
#include <memory>

namespace simmesh {
namespace {

// Made is a complete exchange, whose member i brings what `operands` returns for i.
class Made {
 public:
  using Operands = std::function<std::vector<Tensor>(std::size_t member)>;

  Made(std::size_t members, const CollectiveCall& call, const Operands& operands)
      : group_({0, "world", RankList::range(std::int64_t(members))}, {.ranks = members}),
        exchange_(group_),
        inputs_(members),
        calls_(members, call),
        arrivals_(members) {
    exchange_.start(0);
    for (std::size_t member = 0; member < members; ++member) {
      inputs_[member] = operands(member);
      calls_[member].inputs = inputs_[member];
    }
  }

  std::uint64_t bytes() {
    for (std::size_t member = 0; member < calls_.size(); ++member) {
      arrivals_[member].call = &calls_[member];
      exchange_.arrive(member, arrivals_[member]);
    }
    return fabric_bytes(exchange_);
  }

  std::vector<CollectiveCall>& calls() { return calls_; }

 private:
  Membership group_;
  Exchange exchange_;
  std::vector<std::vector<Tensor>> inputs_;
  std::vector<CollectiveCall> calls_;
  std::vector<Arrival> arrivals_;
};

std::vector<Tensor> rows(std::size_t count) {
  return {zeros({std::int64_t(count), 3}, DType::float32)};
}

std::uint64_t bytes_of(CollectiveOp op, std::size_t members, std::size_t count) {
  return Made(members, {.op = op}, [=](std::size_t) { return rows(count); }).bytes();
}

// A row of three floats has 12 bytes. If this fails, the report of a run is not what the table of
// docs/collectives.md says.
TEST(Fabric, CountsWhatTheTableSays) {
  for (std::size_t n : {1, 2, 3, 4}) {
    std::uint64_t b = 12 * n, others = n - 1;
    EXPECT_EQ(bytes_of(CollectiveOp::barrier, n, n), 0u);
    EXPECT_EQ(bytes_of(CollectiveOp::all_reduce, n, n), 2 * others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::reduce_scatter, n, n), others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::reduce, n, n), others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::all_gather, n, n), others * n * b);
    EXPECT_EQ(bytes_of(CollectiveOp::all_gather_list, n, n), others * n * b);
    EXPECT_EQ(bytes_of(CollectiveOp::broadcast, n, n), others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::broadcast_object, n, n), others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::gather, n, n), others * b);
    EXPECT_EQ(bytes_of(CollectiveOp::all_to_all, n, n), n * (b - b / n));
  }
}

// If this fails, uneven pieces are counted as if all were as large as the first.
TEST(Fabric, CountsUnevenPiecesByTheirSize) {
  auto uneven = [](std::size_t member) { return rows(1 + member); };
  std::uint64_t all = 12 * (1 + 2 + 3);
  EXPECT_EQ(Made(3, {.op = CollectiveOp::all_gather, .uneven = true}, uneven).bytes(), 2 * all);
  EXPECT_EQ(Made(3, {.op = CollectiveOp::all_gather_list, .uneven = true}, uneven).bytes(),
            2 * all);
}

// If this fails, a root's own piece counts as traffic, or another member's bytes do.
TEST(Fabric, CountsWhatARootSends) {
  auto list = [](std::size_t member) {
    std::vector<Tensor> pieces;
    for (std::size_t i = 0; member == 1 && i < 3; ++i) pieces.push_back(rows(2)[0]);
    return pieces;
  };
  EXPECT_EQ(Made(3, {.op = CollectiveOp::scatter, .root = 1}, list).bytes(), 2 * 24u);
  auto object = [](std::size_t member) { return rows(member == 2 ? 5 : 0); };
  EXPECT_EQ(Made(3, {.op = CollectiveOp::broadcast_object, .root = 2}, object).bytes(), 2 * 60u);
}

// If this fails, what a member keeps counts as traffic, or rows are counted by equal parts.
TEST(Fabric, AllToAllCountsWhatLeavesEachMember) {
  auto pieces = [](std::size_t member) {
    std::vector<Tensor> list;
    for (std::size_t to = 0; to < 2; ++to) list.push_back(rows(to == member ? 7 : 1 + to)[0]);
    return list;
  };
  EXPECT_EQ(Made(2, {.op = CollectiveOp::all_to_all_list}, pieces).bytes(), 12u * (2 + 1));

  Made split(2, {.op = CollectiveOp::all_to_all}, [](std::size_t) { return rows(4); });
  const Dims of_first = {3, 1}, of_second = {1, 3};
  split.calls()[0].input_splits = split.calls()[0].output_splits = of_first;
  split.calls()[1].input_splits = split.calls()[1].output_splits = of_second;
  EXPECT_EQ(split.bytes(), 12u * (1 + 1));
}

// If this fails, a collective of no elements divides by zero.
TEST(Fabric, EmptyOperandsSendNothing) {
  for (CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather,
                          CollectiveOp::reduce_scatter, CollectiveOp::all_to_all})
    EXPECT_EQ(bytes_of(op, 3, 0), 0u);
}

}  // namespace
}  // namespace simmesh
