#include "sharding/strategies/place_of_extreme.h"

#include <limits>

#include "core/ops/reductions/extremes.h"
#include "sharding/dtensor/dispatched_op.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Nothing is below the maximum of nothing.
TEST(PlaceOfExtreme, NothingLosesAgainstEverything) {
  EXPECT_EQ(identities(ReduceOp::max, {1}, DType::int64).values<std::int64_t>()[0],
            std::numeric_limits<std::int64_t>::lowest());
  EXPECT_EQ(identities(ReduceOp::min, {1}, DType::uint8).values<std::uint8_t>()[0], 255);
  EXPECT_EQ(identities(ReduceOp::min, {1}, DType::boolean).values<bool>()[0], true);
  EXPECT_EQ(identities(ReduceOp::max, {1}, DType::float32).values<float>()[0],
            -std::numeric_limits<float>::infinity());
}

// Among equal elements the first one in the whole wins, whichever rank holds it, and ranks may hold
// none: ones and zeros tie all the time.
TEST(PlaceOfExtreme, TiesGoToTheFirstOfTheWhole) {
  Formula data = {.rule = Rule::index, .below = 2, .dtype = DType::int64};
  for (const Shape& shape : {Shape{4, 3, 2}, Shape{2, 1, 3}})
    expect_whole_bits(of_one(
                          "argmax", {shape, shards_and(3, {StridedShard(0, 2)}), data},
                          [](const Tensor& x) {
                            return Outputs{argmax(x), argmin(x), argmax(x, 1), argmin(x, 0, true)};
                          },
                          false),
                      {.meshes = {{2}, {3}, {2, 2}}, .schedules = {"fifo", "pct:3"}});
}

// A NaN beats everything, also one that another rank holds.
TEST(PlaceOfExtreme, FindsNansOfOtherRanks) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DeviceMesh mesh = init_device_mesh({2}, {"a"});
    float nan = std::numeric_limits<float>::quiet_NaN();
    Tensor whole = tensor_of<float>({4}, {7, 1, nan, 9});
    Tensor x = distribute_tensor(whole, mesh, {Shard(0)}).as_tensor();
    for (const Tensor& place : {argmax(x), argmin(x)})
      EXPECT_EQ(DTensor::of(place).full_tensor().values<std::int64_t>()[0], 2);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Counts how often a call below PyTorch's tensors sees an all-gather beside the real ones: the
// figures are those of PyTorch 2.15.0.
TEST(PlaceOfExtreme, KnowsWhichGathersPyTorchStartsOnUnfinishedOnes) {
  struct Count {
    Shape mesh, shape;
    Placements placements;
    std::optional<std::int64_t> dim;
    std::int64_t expected;
  };
  const std::vector<Count> counts = {
      {{2, 3}, {8, 3, 8}, {Shard(0), Shard(1)}, {}, 2},
      {{2, 3}, {12}, {Shard(0), Shard(0)}, {}, 2},
      {{2, 3}, {6, 6}, {Shard(0), Shard(0)}, 0, 2},
      {{2, 3}, {6, 6}, {Shard(0), Shard(0)}, -2, 2},
      {{2, 3}, {6, 6}, {Shard(1), Shard(1)}, 1, 0},
      {{2, 3}, {1, 6}, {Shard(1), Shard(1)}, 1, 2},
      {{2, 3}, {1, 1, 6}, {Shard(2), Shard(2)}, 2, 2},
      {{2, 3}, {1, 3, 6}, {Shard(2), Shard(2)}, -1, 0},
      {{2, 2, 3}, {12, 4}, {Shard(0), Shard(1), Shard(0)}, {}, 4},
      {{2, 2, 3}, {1, 12}, {Shard(1), Shard(1), Shard(1)}, 1, 4},
      {{2, 3}, {6, 6}, {Partial(ReduceOp::max), Shard(0)}, {}, 0},
  };
  for (const Count& count : counts) {
    World world({.ranks = std::size_t(numel(count.mesh))});
    Outcome outcome = world.run([&](Rank&) {
      DeviceMesh mesh = init_device_mesh(count.mesh);
      Tensor x = distributed(formula(count.shape, {.rule = Rule::small}), mesh, count.placements);
      std::int64_t seen = -1;
      DispatchScope scope([&](const DispatchedOp& op) { seen = op.gathers_of_unwaited; });
      argmax(x, count.dim);
      EXPECT_EQ(seen, count.expected)
          << to_string(count.placements) << " of " << to_string(DimSpan(count.shape));
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  }
}

}  // namespace
}  // namespace simmesh
