#include "core/ops/reductions/running_extremes.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(RunningExtremeStrategies, ScansEqualOneDevice) {
  for (std::int64_t dim : {0, -1})
    expect_whole_bits(
        of_one("cummax", {{3, 4}, shards_and(2, {partial_sum, partial_max})}, [&](const Tensor& x) {
          ValuesAndIndices most = cummax(x, dim), fewest = cummin(x, dim);
          return Outputs{most.values, most.indices, fewest.values, fewest.indices};
        }));
}

}  // namespace
}  // namespace simmesh
