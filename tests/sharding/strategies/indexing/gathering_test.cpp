#include "core/ops/indexing/gathering.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Rows, columns, indices: each on any mesh dim, also where ranks hold no rows.
TEST(GatheringStrategies, EmbeddingOfEverySplit) {
  for (std::int64_t rows : {2, 5, 8})
    expect_whole_bits({.name = "embedding",
                       .inputs = {values({rows, 3}), indices({4, 3}, std::uint64_t(rows))},
                       .function = [](Given x) -> Tensors { return {embedding(x[0], x[1], 1)}; }},
                      {.schedules = {"fifo", "pct:3"}});
}

TEST(GatheringStrategies, EmbeddingOfStridedRows) {
  expect_whole_bits(
      {.name = "embedding of strided rows",
       .inputs = {{.shape = {8, 3}, .alphabet = {Shard(0), StridedShard(0, 2)}}, indices({5}, 8)},
       .function = [](Given x) -> Tensors { return {embedding(x[0], x[1])}; },
       .has_gradient = false},
      {.meshes = {{2}, {2, 2}}});
}

TEST(GatheringStrategies, GatherOfEverySplit) {
  struct {
    Shape x, index;
    std::int64_t dim;
  } const cases[] = {{{4, 5}, {4, 1}, 1},
                     {{5, 4}, {1, 4}, 0},
                     {{2, 3}, {1, 3}, 0},
                     {{4, 5}, {4, 3}, -1},
                     {{4, 5}, {2, 5}, 1}};
  for (const auto& one : cases)
    expect_whole_bits(
        {.name = "gather",
         .inputs = {values(one.x), indices(one.index, std::uint64_t(one.dim == 0 ? one.x[0] : 5))},
         .function = [&](Given x) -> Tensors { return {gather(x[0], one.dim, x[1])}; }},
        {.schedules = {"fifo", "pct:3"}});
}

TEST(GatheringStrategies, IndexSelectOfEverySplit) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits(
        {.name = "index_select",
         .inputs = {values({4, 4}, {Partial(), Partial(ReduceOp::max)}), indices({5}, 4)},
         .function = [=](Given x) -> Tensors { return {index_select(x[0], dim, x[1])}; }},
        {.schedules = {"fifo"}});
}

TEST(GatheringStrategies, TakeOfEverySplit) {
  expect_whole_bits(
      {.name = "take",
       .inputs = {values({3, 4}, {Partial(), Partial(ReduceOp::max)}), indices({5}, 12)},
       .function = [](Given x) -> Tensors { return {take(x[0], x[1])}; }},
      {.schedules = {"fifo"}});
}

TEST(GatheringStrategies, TakeAlongDimAndOneHot) {
  expect_whole_bits(
      {.name = "take_along_dim",
       .inputs = {values({4, 3}), indices({4, 1}, 3)},
       .function = [](Given x) -> Tensors { return {take_along_dim(x[0], x[1], 1)}; }});
  expect_whole_bits({.name = "one_hot",
                     .inputs = {indices({3, 2}, 4)},
                     .function = [](Given x) -> Tensors { return {one_hot(x[0], 4)}; },
                     .has_gradient = false});
}

}  // namespace
}  // namespace simmesh
