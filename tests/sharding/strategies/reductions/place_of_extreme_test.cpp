#include "sharding/strategies/reductions/place_of_extreme.h"

#include <limits>

#include "core/ops/reductions/extremes.h"
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

// Of equal elements the first one in the whole wins, whichever rank holds it, and ranks may hold
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

}  // namespace
}  // namespace simmesh
