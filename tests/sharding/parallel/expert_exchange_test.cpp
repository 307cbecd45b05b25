#include "sharding/parallel/expert_exchange.h"

#include <gtest/gtest.h>

#include "core/tensor/chunk.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

constexpr std::int64_t experts = 3, choices = 2, row_width = 2;

// Returns how many rows a rank has for an expert by a choice: some have none.
std::int64_t count_of(std::int64_t rank, std::int64_t expert, std::int64_t choice) {
  return (rank + 2 * expert + choice) % 3;
}

// Each row has its origin, and its number there.
float name_of(std::int64_t rank, std::int64_t expert, std::int64_t choice, std::int64_t row) {
  return float(1000 * rank + 100 * expert + 10 * choice + row);
}

Tensor rows_of(const std::vector<float>& names) {
  Tensor rows = empty({std::int64_t(names.size()), row_width}, DType::float32);
  auto values = rows.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = names[i / row_width];
  return rows;
}

std::vector<Tensor> rows_of_rank(std::int64_t rank) {
  std::vector<Tensor> result;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    std::vector<float> names;
    for (std::int64_t choice = 0; choice < choices; ++choice)
      for (std::int64_t row = 0; row < count_of(rank, expert, choice); ++row)
        names.push_back(name_of(rank, expert, choice, row));
    result.push_back(rows_of(names));
  }
  return result;
}

ExpertRows layout_of(std::int64_t rank) {
  ExpertRows result{{}, row_width, DType::float32};
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    auto& counts = result.counts.emplace_back();
    for (std::int64_t choice = 0; choice < choices; ++choice)
      counts.push_back(count_of(rank, expert, choice));
  }
  return result;
}

class ExpertExchangeTest : public ::testing::TestWithParam<std::int64_t> {};

// An expert gets the first choices of all ranks' tokens, then the second ones; and the result of
// each row returns to its origin.
SIMMESH_TEST_P(ExpertExchangeTest, MovesRowsThereAndBack, {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  TokenExchange exchange(layout_of(group.rank()), group);
  std::vector<Tensor> own = rows_of_rank(group.rank());
  std::vector<Tensor> there = exchange.to_owners(own);
  Chunk mine = chunk_of({.size = experts, .parts = group.size(), .index = group.rank()});
  ASSERT_EQ(std::int64_t(there.size()), mine.length);
  for (std::int64_t i = 0; i < mine.length; ++i) {
    std::vector<float> names;
    for (std::int64_t choice = 0; choice < choices; ++choice)
      for (std::int64_t rank = 0; rank < group.size(); ++rank)
        for (std::int64_t row = 0; row < count_of(rank, mine.start + i, choice); ++row)
          names.push_back(name_of(rank, mine.start + i, choice, row));
    EXPECT_SAME_BITS(there[std::size_t(i)].contiguous(), rows_of(names));
  }
  std::vector<Tensor> back = exchange.to_tokens(there);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_SAME_BITS(back[i].contiguous(), own[i]);
}

// Replicas take their experts' rows and give all of them to all.
SIMMESH_TEST_P(ExpertExchangeTest, GathersWhatReplicasComputed,
               {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  TokenReplicas exchange(layout_of(0), group);
  std::vector<Tensor> all = rows_of_rank(0);
  std::vector<Tensor> there = exchange.to_owners(all);
  Chunk mine = chunk_of({.size = experts, .parts = group.size(), .index = group.rank()});
  ASSERT_EQ(std::int64_t(there.size()), mine.length);
  std::vector<Tensor> back = exchange.to_tokens(there);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_SAME_BITS(back[i].contiguous(), all[i]);
}

// A route by nodes gives each expert the same rows in the same order.
SIMMESH_TEST(ExpertExchange, ARouteByNodesMovesTheSameRows, {.mesh = {4}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  TokenExchange flat(layout_of(group.rank()), group);
  TokenExchange by_nodes(layout_of(group.rank()), group, {.ranks_per_node = 2, .by_nodes = true});
  std::vector<Tensor> own = rows_of_rank(group.rank());
  std::vector<Tensor> expected = flat.to_owners(own), there = by_nodes.to_owners(own);
  ASSERT_EQ(there.size(), expected.size());
  for (std::size_t i = 0; i < there.size(); ++i)
    EXPECT_SAME_BITS(there[i].contiguous(), expected[i].contiguous());
  std::vector<Tensor> back = by_nodes.to_tokens(there);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_SAME_BITS(back[i].contiguous(), own[i]);
}

// The ranks that share the columns of an expert get all rows for it, and give each its own back.
SIMMESH_TEST(ExpertExchange, ColumnsGatherTheRowsOfAnExpert,
             {.mesh = {2, 2}, .names = {"ep", "etp"}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh, "ep"), columns = process_group(mesh, "etp");
  std::int64_t origin = group.rank() + 2 * columns.rank();
  ColumnExchange exchange(layout_of(origin), TokenExchange(layout_of(origin), group), columns);
  std::vector<Tensor> own = rows_of_rank(origin);
  std::vector<Tensor> there = exchange.to_owners(own);
  Chunk mine = chunk_of({.size = experts, .parts = 2, .index = group.rank()});
  ASSERT_EQ(std::int64_t(there.size()), mine.length);
  for (std::int64_t i = 0; i < mine.length; ++i) {
    std::vector<float> names;
    for (std::int64_t column = 0; column < 2; ++column)
      for (std::int64_t choice = 0; choice < choices; ++choice)
        for (std::int64_t rank = 2 * column; rank < 2 * column + 2; ++rank)
          for (std::int64_t row = 0; row < count_of(rank, mine.start + i, choice); ++row)
            names.push_back(name_of(rank, mine.start + i, choice, row));
    EXPECT_SAME_BITS(there[std::size_t(i)].contiguous(), rows_of(names));
  }
  std::vector<Tensor> back = exchange.to_tokens(there);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_SAME_BITS(back[i].contiguous(), own[i]);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExpertExchangeTest, ::testing::Values(1, 2, 3, 4));

// If this fails, a damaged number of rows takes all memory, or for ever, before it is refused.
TEST(ExpertExchange, RefusesDamagedCounts) {
  // The first counts are of the rows that the rank sends to itself.
  for (std::uint64_t bit : {2u, 40u, 61u, 63u}) {
    Fault flip = Fault::flip_bit({.rank = 0, .operation = 1, .bit = bit});
    Outcome outcome = World({.ranks = 2, .faults = {flip}}).run([](Rank& rank) {
      TokenExchange exchange(layout_of(std::int64_t(rank.id())), ProcessGroup::world());
      exchange.to_owners(rows_of_rank(std::int64_t(rank.id())));
    });
    ASSERT_TRUE(outcome.failure) << bit;
    EXPECT_EQ(outcome.failure->kind, Failure::Kind::error) << report(outcome);
    EXPECT_EQ(outcome.live_storages, 0);
  }
}

}  // namespace
}  // namespace simmesh
