#include "core/ops/matrices/spectral.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

TEST(SpectralStrategies, DecompositionsEqualOneDevice) {
  expect_whole_bits(of_one(
                        "qr", {{2, 3, 2}, shards_and(3, {partial_sum})},
                        [](const Tensor& x) {
                          Qr factors = qr(x);
                          Svd values = svd(x);
                          return Outputs{factors.q, factors.r, values.u, values.s, values.vh};
                        },
                        false),
                    {.schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
