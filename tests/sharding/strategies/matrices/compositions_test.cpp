#include "core/ops/matrices/compositions.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Vectors of three are along one dim, which is whole.
TEST(CompositionStrategies, CrossProductsEqualOneDevice) {
  expect_whole_bits({"cross",
                     {{{2, 3}, shards_and(2, {partial_sum})}, {{2, 3}, shards_and(2)}},
                     [](gsl::span<const Tensor> in) { return Outputs{cross(in[0], in[1], -1)}; }},
                    {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
