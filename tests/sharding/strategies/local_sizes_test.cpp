#include "sharding/strategies/local_sizes.h"

#include "core/ops/indexing/resampling.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// A gradient of an uneven piece has the sizes of the piece, not those of the whole.
TEST(LocalSizes, AreThoseOfThePiece) {
  expect_whole_bits(
      of_one("upsample_nearest", {{3, 2, 4}, shards_and(3, {partial_sum})},
             [](const Tensor& x) { return Outputs{upsample_nearest(x, {.size = {8}})}; }),
      {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
