#include "core/ops/indexing/scattering.h"

#include <gtest/gtest.h>

#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

Input written(const Shape& shape) {
  return values(shape, {Partial(), Partial(ReduceOp::avg), Partial(ReduceOp::max)});
}

// A third of a copy that becomes partial would be rounded: ranks are two or four.
void expect_written(const char* name, const std::vector<Input>& inputs,
                    const std::function<Tensor(Given)>& function) {
  expect_whole_bits({.name = name,
                     .inputs = inputs,
                     .function = [&](Given x) -> Tensors { return {function(x)}; }},
                    {.meshes = {{2}, {4}}, .schedules = {"fifo"}});
}

TEST(ScatteringStrategies, Scatter) {
  expect_written("scatter of a value", {written({4, 3}), indices({4, 2}, 3)},
                 [](Given x) { return scatter(x[0], -1, x[1], 5.0); });
  expect_written("scatter", {written({4, 3}), indices({1, 3}, 4), written({1, 3})},
                 [](Given x) { return scatter(x[0], 0, x[1], x[2]); });
  expect_written("scatter_add", {written({4, 3}), indices({4, 2}, 3), written({4, 2})},
                 [](Given x) { return scatter_add(x[0], 1, x[1], x[2]); });
}

// Where sizes differ, pieces of one tensor don't meet those of the others.
TEST(ScatteringStrategies, SizesThatDiffer) {
  expect_written("scatter_add of a part", {written({4, 3}), indices({2, 2}, 3), written({4, 2})},
                 [](Given x) { return scatter_add(x[0], 1, x[1], x[2]); });
}

TEST(ScatteringStrategies, IndexWrites) {
  expect_written("index_add", {written({4, 3}), indices({5}, 4), written({5, 3})},
                 [](Given x) { return index_add(x[0], 0, x[1], x[2], 2); });
  expect_written("index_copy", {written({4, 3}), indices({1}, 4), written({1, 3})},
                 [](Given x) { return index_copy(x[0], 0, x[1], x[2]); });
  expect_written("index_fill", {written({4, 3}), indices({2}, 3)},
                 [](Given x) { return index_fill(x[0], -1, x[1], 7.0); });
}

}  // namespace
}  // namespace simmesh
