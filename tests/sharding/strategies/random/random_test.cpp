#include "core/ops/random/random.h"

#include "core/ops/elementwise/pointwise.h"
#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Each rank draws its own numbers, or those of another place: then a result depends on the layout.
TEST(RandomStrategies, DrawWhatOneDeviceDraws) {
  Placements kinds = shards_and(2, {StridedShard(0, 2), Partial(ReduceOp::sum)});
  for (const Shape& shape : {Shape{7, 3}, Shape{1, 3}, Shape{0, 2}})
    expect_whole_bits({.name = "draws",
                       .inputs = {{.shape = shape, .alphabet = kinds}},
                       .function = [](TensorSpan x) {
                         Generator generator{.seed = 5};
                         return std::vector<Tensor>{
                             dropout(x[0], generator.next(), {.p = 0.25}),
                             bernoulli(abs(sign(x[0])) * 0.5, generator.next()),
                             rand_like(x[0], generator.next()),
                             randn_like(x[0], generator.next(), DType::float64)};
                       }});
}

// A draw of a part of a larger tensor loses its place in that.
TEST(RandomStrategies, APartOfALargerTensorIsDrawnAtItsPlace) {
  expect_whole_bits({.name = "part",
                     .inputs = {{.shape = {4, 3}, .alphabet = shards_and(2)}},
                     .function = [](TensorSpan x) {
                       ShardOfTensor shard{{8, 5}, {3, 2}};
                       return std::vector<Tensor>{
                           dropout(x[0], {.seed = 9}, {.p = 0.5, .shard = shard})};
                     }});
}

// Dropout without a draw reduces nothing.
TEST(RandomStrategies, DropoutThatIsOffReturnsItsInput) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2});
    Tensor x = distributed(zeros({4}, DType::float32), mesh, {Partial(ReduceOp::sum)});
    EXPECT_EQ(Placements{Partial(ReduceOp::sum)},
              DTensor::of(dropout(x, {}, {.training = false})).placements());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
