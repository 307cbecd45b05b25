#include "core/ops/indexing/indexing.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise/comparison.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

void expect_index(const std::vector<Input>& inputs, const std::function<Tensor(Given)>& function) {
  expect_whole_bits({.name = "index",
                     .inputs = inputs,
                     .function = [&](Given x) -> Tensors { return {function(x)}; }},
                    {.schedules = {"fifo"}});
}

TEST(IndexingStrategies, IndexOfEverySplit) {
  expect_index({values({4, 3}), indices({5}, 4)}, [](Given x) { return index(x[0], {x[1]}); });
  expect_index({values({2, 3, 4}), indices({2, 3}, 3)}, [](Given x) {
    return index(x[0], {Tensor(), x[1]});
  });
  expect_index({values({3, 3}), indices({4}, 3), indices({2, 1}, 3)}, [](Given x) {
    return index(x[0], {x[1], x[2]});
  });
}

// Dims that are indexed apart go to the front.
TEST(IndexingStrategies, IndicesApart) {
  expect_index({values({3, 2, 3}), indices({4}, 3), indices({4}, 3)}, [](Given x) {
    return index(x[0], {x[1], Tensor(), x[2]});
  });
}

// A third of a copy that becomes partial would be rounded: ranks are two or four.
TEST(IndexingStrategies, IndexPutOfEverySplit) {
  for (const Shape& shape : {Shape{3, 4}, Shape{4}, Shape{3, 1}})
    expect_whole_bits(
        {.name = "index_put",
         .inputs = {values({5, 4}), values(shape), indices({3}, 5)},
         .function = [](Given x) -> Tensors { return {index_put(x[0], {x[2]}, x[1], true)}; }},
        {.meshes = {{2}, {4}}, .schedules = {"fifo"}});
  expect_whole_bits({.name = "index_put of a later dim",
                     .inputs = {values({2, 4, 3}), values({2, 2, 3}), indices({2}, 4)},
                     .function = [](Given x) -> Tensors {
                       return {index_put(x[0], {Tensor(), x[2]}, x[1])};
                     },
                     .has_gradient = false},
                    {.meshes = {{2}, {4}}, .schedules = {"fifo"}});
}

// Where a mask is cut, its places are those of the whole mask: a rank that counted its own piece
// would have another shape than the others.
TEST(IndexingStrategies, MasksOfEverySplit) {
  std::vector<Input> inputs = {values({5, 3}), values({5, 3})};
  expect_index(inputs, [](Given x) { return masked_select(x[0], gt(x[1], 0)); });
  expect_index(inputs, [](Given x) { return index(x[0], {gt(x[1], 0)}); });
  expect_index(inputs, [](Given x) { return index(x[0], {gt(select(x[1].detach(), 1, 0), 0)}); });
  expect_whole_bits({.name = "nonzero",
                     .inputs = {values({5, 3})},
                     .function = [](Given x) -> Tensors { return {nonzero(gt(x[0], 0))}; },
                     .has_gradient = false},
                    {.schedules = {"fifo"}});
  expect_whole_bits({.name = "index_put by a mask",
                     .inputs = inputs,
                     .function = [](Given x) -> Tensors {
                       return {index_put(x[0], {gt(x[1], 0)}, new_zeros(x[0], Shape{}))};
                     },
                     .has_gradient = false},
                    {.meshes = {{2}, {4}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
