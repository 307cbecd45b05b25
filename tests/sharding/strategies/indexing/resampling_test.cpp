#include "core/ops/indexing/resampling.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Images are independent of each other, planes turn as a whole.
TEST(ResamplingStrategies, ImagesEqualOneDevice) {
  Input images = {{3, 2, 4}, shards_and(3, {pending_sum, pending_max})};
  expect_whole_bits(
      of_one("upsample_nearest", images,
             [](const Tensor& x) { return Outputs{upsample_nearest(x, {.size = {8}})}; }),
      {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
  expect_whole_bits(of_one(
                        "rot90", images,
                        [](const Tensor& x) {
                          return Outputs{rot90(x, 1, Dims{0, 2})};
                        },
                        false),
                    {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
