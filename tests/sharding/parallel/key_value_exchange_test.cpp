#include "sharding/parallel/key_value_exchange.h"

#include <gtest/gtest.h>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

Tensor data(std::int64_t rank, std::int64_t length, std::int64_t width, Rule rule = Rule::unit) {
  return formula({2, 2, length, width}, {.rule = rule, .seed = std::uint64_t(rank) + 1});
}

std::vector<std::unique_ptr<KeyValueExchange>> both(const SequenceSplit& split,
                                                    const ProcessGroup& group) {
  std::vector<std::unique_ptr<KeyValueExchange>> result;
  result.push_back(std::make_unique<RingExchange>(split, group));
  result.push_back(std::make_unique<GatherExchange>(split, group));
  return result;
}

class KeyValueExchangeTest : public ::testing::TestWithParam<std::int64_t> {};

// Each rank sees each block once, with the bits that its owner has.
SIMMESH_TEST_P(KeyValueExchangeTest, BringsEachBlock, {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  for (std::int64_t length : {1, 7, 8}) {
    SequenceSplit split{length, group.size(), SequenceOrder::head_tail};
    std::int64_t own = group.rank();
    for (const auto& exchange : both(split, group)) {
      std::vector<int> times(std::size_t(group.size()), 0);
      std::vector<KeyValue> blocks = exchange->gather(
          {data(own, split.length_of(own), 3), data(own + 50, split.length_of(own), 4)},
          [&](std::int64_t rank, const KeyValue& block) {
            ++times[std::size_t(rank)];
            EXPECT_SAME_BITS(block.k, data(rank, split.length_of(rank), 3));
          });
      EXPECT_EQ(times, std::vector<int>(std::size_t(group.size()), 1));
      for (std::int64_t rank = 0; rank < group.size(); ++rank)
        EXPECT_SAME_BITS(blocks[std::size_t(rank)].v, data(rank + 50, split.length_of(rank), 4));
    }
  }
}

// The sum is rounded once: a large term that one rank adds and another subtracts keeps the rest
// whole.
SIMMESH_TEST_P(KeyValueExchangeTest, RoundsSumsOnce,
               {.mesh = {GetParam()}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup group = process_group(mesh);
  SequenceSplit split{7, group.size(), SequenceOrder::contiguous};
  for (const auto& exchange : both(split, group)) {
    std::vector<KeyValue> terms;
    Tensor expected;
    for (std::int64_t owner = 0; owner < group.size(); ++owner) {
      std::int64_t length = split.length_of(owner);
      Tensor large = full({2, 2, length, 3}, DType::float32, 1e20);
      KeepUnrounded scope;
      Tensor small = data(owner, length, 3);
      if (owner == group.rank()) expected = small;
      Tensor term = zeros({2, 2, length, 3}, DType::float32);
      if (group.rank() == 0) term = add(large, small);
      if (group.rank() == group.size() - 1) term = add(term, neg(large));
      terms.push_back({term, term});
    }
    KeyValue sum = exchange->sum_at_owners(std::move(terms));
    EXPECT_SAME_BITS(sum.k, expected);
    EXPECT_SAME_BITS(sum.v, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, KeyValueExchangeTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace simmesh
