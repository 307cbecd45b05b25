#include "core/ops/reductions/scans.h"

#include "core/ops/reductions/logcumsumexp.h"
#include "core/ops/reductions/running_extremes.h"
#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placements scans_alphabet = shards_and(2, {partial_sum, partial_average, partial_max});

// A scan of a piece alone would start anew, also where the dim is counted from the end.
TEST(ScanStrategies, ScansEqualOneDevice) {
  for (std::int64_t dim : {0, -1}) {
    expect_whole_bits(of_one("cumsum", {{3, 4}, scans_alphabet},
                             [&](const Tensor& x) { return Outputs{cumsum(x, dim)}; }));
    expect_whole_bits(of_one("cumprod", {{3, 2}, scans_alphabet},
                             [&](const Tensor& x) { return Outputs{cumprod(x, dim)}; }));
  }
}

}  // namespace
}  // namespace simmesh
