#include "core/ops/neural/rotary.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The angles of a row are those of its place in the whole, and sums are rounded before they are
// turned.
TEST(RotaryStrategies, TurnsEqualOneDevice) {
  Input rows = {{2, 4, 3, 4}, shards_and(4, {partial_sum, partial_average, partial_max})};
  expect_whole_bits(of_one("rotary_embedding", rows,
                           [](const Tensor& x) { return Outputs{rotary_embedding(x)}; }),
                    {.meshes = {{2}, {3}}, .schedules = {"fifo", "pct:3"}});
}

}  // namespace
}  // namespace simmesh
