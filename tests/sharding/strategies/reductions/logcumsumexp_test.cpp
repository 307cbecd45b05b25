#include "core/ops/reductions/logcumsumexp.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Forward and backward scan along the dim.
TEST(LogcumsumexpStrategies, ScansEqualOneDevice) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits(of_one("logcumsumexp",
                             {{3, 4}, shards_and(2, {partial_sum, partial_max, partial_min})},
                             [&](const Tensor& x) { return Outputs{logcumsumexp(x, dim)}; }));
}

}  // namespace
}  // namespace simmesh
