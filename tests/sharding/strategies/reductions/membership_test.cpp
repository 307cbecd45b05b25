#include "core/ops/reductions/membership.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// An element may be found in any piece of the others.
TEST(MembershipStrategies, FindsEqualOneDevice) {
  for (bool invert : {false, true})
    expect_whole_bits(
        {"isin",
         {{{3, 4}, shards_and(2, {partial_sum})}, {{5}, shards_and(1, {partial_max})}},
         [invert](gsl::span<const Tensor> in) { return Outputs{isin(in[0], in[1], invert)}; },
         false},
        {.meshes = {{2}, {2, 2}}, .schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
