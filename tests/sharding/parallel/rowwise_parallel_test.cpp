#include "sharding/parallel/rowwise_parallel.h"

#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "sharding/parallel/parallelize.h"
#include "tests/sharding/parallel/tensor_parallel.h"

namespace simmesh {
namespace {

using namespace tensor_parallel;

class Rows : public ::testing::TestWithParam<std::int64_t> {};

// Rows of a table that another rank has are looked up as others, or counted twice.
SIMMESH_TEST_P(Rows, OfAnEmbeddingAreLookedUpWhereTheyAre,
               {.mesh = {GetParam()}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  nn::Embedding spread({.count = 5, .width = 3}), single({.count = 5, .width = 3});
  fill(spread);
  fill(single);
  parallelize(spread, mesh, RowwiseParallel{.input_layout = Replicate()});
  Tensor tokens = tensor_of<std::int64_t>({2, 3}, {0, 4, 2, 2, 1, 0}),
         upstream = numbers({2, 3, 3}, 7);
  Tensor y = spread(tokens), expected = single(tokens);
  EXPECT_SAME_BITS(y.detach(), expected.detach());
  backward(y, {.gradients = {upstream}});
  backward(expected, {.gradients = {upstream}});
  EXPECT_SAME_BITS(whole(grad_of(spread.parameter("weight"))), grad_of(single.parameter("weight")));
}

// A layer that gets whole inputs takes them for its own columns.
SIMMESH_TEST_P(Rows, OfALayerTakeTheirColumnsOfTheInput,
               {.mesh = {GetParam()}, .schedules = 20, .arithmetic = Arithmetic::exact()}) {
  nn::Linear spread({.in = 6, .out = 3}), single({.in = 6, .out = 3});
  fill(spread);
  fill(single);
  parallelize(spread, mesh, RowwiseParallel{.input_layout = Replicate()});
  expect_same_run(spread, single, numbers({4, 6}, 1), numbers({4, 3}, 2));
}
INSTANTIATE_TEST_SUITE_P(Worlds, Rows, ::testing::Values(1, 2, 3, 4, 8));

}  // namespace
}  // namespace simmesh
