#include "sharding/parallel/sequence_split.h"

#include <gmock/gmock.h>
#include <numeric>

#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

// The order of PyTorch's _HeadTailLoadBalancer.
TEST(SequenceSplit, PairsHeadsAndTails) {
  EXPECT_THAT(head_tail_order(8, 2), ElementsAre(0, 1, 6, 7, 2, 3, 4, 5));
  EXPECT_THAT(head_tail_order(8, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Pieces are those of torch.chunk: the last are short or empty.
TEST(SequenceSplit, CutsUnevenly) {
  EXPECT_THAT(head_tail_order(7, 2), ElementsAre(0, 1, 6, 2, 3, 4, 5));
  EXPECT_THAT(head_tail_order(3, 4), ElementsAre(0, 1, 2));
  SequenceSplit split{.length = 5, .ranks = 2};
  EXPECT_THAT(split.positions_of(1), ElementsAre(3, 4));
}

TEST(SequenceSplit, HoldsEachPositionOnce) {
  for (SequenceOrder order : {SequenceOrder::contiguous, SequenceOrder::head_tail})
    for (std::int64_t ranks = 1; ranks <= 5; ++ranks)
      for (std::int64_t length = 0; length <= 24; ++length) {
        SequenceSplit split{length, ranks, order};
        std::vector<std::int64_t> found = split.order_of_ranks(), all(std::size_t(length), 0);
        std::sort(found.begin(), found.end());
        std::iota(all.begin(), all.end(), 0);
        EXPECT_EQ(found, all);
        Tensor x = formula({2, length, 3}, {.rule = Rule::unit, .seed = 1});
        std::vector<Tensor> parts = by_rank(x, 1, split);
        for (std::int64_t rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(parts[std::size_t(rank)].size(1), split.length_of(rank));
        EXPECT_TRUE(same_bits(in_sequence_order(parts, 1, split), x));
      }
}

// Under a causal mask rank r computes, of each row, the scores up to its position.
TEST(SequenceSplit, BalancesCausalWork) {
  SequenceSplit split{.length = 32, .ranks = 4, .order = SequenceOrder::head_tail};
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    std::vector<std::int64_t> positions = split.positions_of(rank);
    EXPECT_EQ(std::accumulate(positions.begin(), positions.end(), std::int64_t{0}), 32 * 31 / 8);
  }
}

TEST(SequenceSplit, RefusesOtherLengths) {
  EXPECT_EQ(split_of_lengths({3, 4}, SequenceOrder::head_tail).length, 7);
  expect_error(
      [] {
        split_of_lengths({4, 3}, SequenceOrder::head_tail);
      },
      ErrorKind::value_error,
      "expected the ranks to hold 3, 4 of 7 positions in head-tail order, got 4, 3");
}

SIMMESH_TEST(SequenceSplit, IsAgreedOn, {.mesh = {3}, .schedules = 3}) {
  ProcessGroup group = process_group(mesh);
  SequenceSplit split = agreed_split(group.rank() == 2 ? 1 : 3, SequenceOrder::contiguous, group);
  EXPECT_EQ(split.length, 7);
  expect_error([&] { agreed_split(group.rank(), SequenceOrder::contiguous, group); },
               ErrorKind::value_error, "in contiguous order, got 0, 1, 2");
}

}  // namespace
}  // namespace simmesh
