#include "core/ops/elementwise/complex.h"

#include "tests/sharding/strategies/elementwise/elementwise_calls.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// The two parts of a number come apart.
TEST(ComplexStrategies, GiveWholeBits) {
  Placements few = shards_and(3, {Partial(ReduceOp::sum), Partial(ReduceOp::max)});
  Input pairs{.shape = {5, 3, 2}, .alphabet = few};
  expect_whole_bits({.name = "complex",
                     .inputs = {pairs, pairs},
                     .function =
                         [](TensorSpan x) {
                           return std::vector<Tensor>{complex_mul(x[0], x[1]), complex_conj(x[0]),
                                                      complex_abs(x[1])};
                         }},
                    {.meshes = {{2}, {4}}});
}

}  // namespace
}  // namespace simmesh
