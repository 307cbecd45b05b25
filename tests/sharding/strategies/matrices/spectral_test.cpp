#include "core/ops/matrices/spectral.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

const Placement pending = Partial(ReduceOp::sum), average = Partial(ReduceOp::avg);
const Placement greatest = Partial(ReduceOp::max), least = Partial(ReduceOp::min);

using Tensors = std::vector<Tensor>;
using One = std::function<Tensors(const Tensor&)>;
Call of_one(const char* name, const Input& x, const One& function, bool has_gradient = true) {
  return {
      name, {x}, [function](gsl::span<const Tensor> in) { return function(in[0]); }, has_gradient};
}

TEST(SpectralStrategies, DecompositionsEqualOneDevice) {
  expect_whole_bits(of_one(
                        "qr", {{2, 3, 2}, shards_and(3, {pending})},
                        [](const Tensor& x) {
                          Qr factors = qr(x);
                          Svd values = svd(x);
                          return Tensors{factors.q, factors.r, values.u, values.s, values.vh};
                        },
                        false),
                    {.schedules = {"fifo"}});
}

}  // namespace
}  // namespace simmesh
