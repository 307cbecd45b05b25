#include "core/ops/elementwise/comparison.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Parts of partial tensors are compared.
TEST(ComparisonStrategies, GiveWholeBits) {
  for (auto f : {static_cast<Tensor (*)(const Tensor&, const Tensor&)>(eq), ne, lt, le, gt, ge})
    expect_of_two("comparison", f);
  expect_of_one("less", [](const Tensor& x) { return lt(x, 1); });
}

// A rank whose own piece is equal takes the tensors for equal.
TEST(ComparisonStrategies, EqualIsOneAnswerForAllRanks) {
  for (bool are_equal : {true, false}) {
    Tensor first = formula({5, 2}, {.rule = Rule::small, .seed = 3}), second = first.clone();
    if (!are_equal) second.mutable_values<float>()[9] += 1;
    for (const Shape& shape : {Shape{3}, Shape{2, 2}}) {
      World world({.ranks = std::size_t(numel(shape)), .schedule = Schedule::parse("seeded:4")});
      Outcome outcome = world.run([&](Rank&) {
        DeviceMesh mesh = init_device_mesh(shape);
        auto lists = small_worlds::lists(shape.size(), shards_and(2, {Partial(ReduceOp::sum)}));
        for (const Placements& a : lists)
          for (const Placements& b : lists)
            EXPECT_EQ(are_equal, equal(distributed(first, mesh, a), distributed(second, mesh, b)));
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
    }
  }
}

// TensorSpan of different shapes are compared piece by piece.
TEST(ComparisonStrategies, TensorsOfDifferentShapesAreNotEqual) {
  World world({.ranks = 2});
  Outcome outcome = world.run([&](Rank&) {
    DeviceMesh mesh = init_device_mesh({2});
    DTensor a = distribute_tensor(zeros({4, 2}, DType::float32), mesh, {Shard(0)});
    DTensor b = distribute_tensor(zeros({4, 1}, DType::float32), mesh, {Shard(0)});
    EXPECT_FALSE(equal(a, b));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
