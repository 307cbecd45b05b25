#include "core/ops/shapes/factories.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A tensor made like a partial one counts once a rank, or a shard has the whole's size.
TEST(FactoryStrategies, GiveWholeTensors) {
  expect_whole_bits({.name = "like",
                     .inputs = {{.shape = {5, 2}, .alphabet = all_kinds(2)}},
                     .function =
                         [](TensorSpan x) {
                           return std::vector<Tensor>{zeros_like(x[0]),
                                                      ones_like(x[0]),
                                                      full_like(x[0], -0.0),
                                                      full_like(x[0], 7, DType::int64),
                                                      new_zeros(x[0], Shape{5, 2}),
                                                      new_ones(x[0], Shape{3}),
                                                      new_full(x[0], Shape{5, 2}, 2, DType::int32),
                                                      new_full(x[0], Shape{}, 4)};
                         },
                     .has_gradient = false});
}

// Nothing moves for a tensor of which only the shape counts.
TEST(FactoryStrategies, FollowTheirInput) {
  World world({.ranks = 4, .arithmetic = Arithmetic::exact()});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    Tensor whole = formula({4, 6}, {.rule = Rule::small});
    for (const Placement& partial :
         {Partial(ReduceOp::sum), Partial(ReduceOp::product), NormPartial(2)}) {
      DTensor x(distributed(whole, mesh, {Shard(1), Replicate()}));
      DTensorSpec spec = x.spec();
      spec.sharding.placements = {Shard(1), partial};
      Tensor partial_tensor = DTensor(spec, x.local());
      EXPECT_EQ((Placements{Shard(1), Replicate()}),
                DTensor::of(ones_like(partial_tensor)).placements());
      EXPECT_EQ((Placements{Shard(1), Replicate()}),
                DTensor::of(new_full(partial_tensor, Shape{4, 6}, 1)).placements());
      EXPECT_EQ((Placements{Replicate(), Replicate()}),
                DTensor::of(new_empty(partial_tensor, Shape{6, 4})).placements());
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
