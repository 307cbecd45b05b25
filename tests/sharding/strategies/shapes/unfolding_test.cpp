#include "core/ops/shapes/unfolding.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/sharding/strategies/oracle_inputs.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

// Windows that overlap need neighbours: their dim is gathered.
TEST(UnfoldingStrategies, WindowsOfEverySplit) {
  expect_whole_bits(
      {.name = "unfold",
       .inputs = {{.shape = {5, 3},
                   .alphabet = shards_and(2, {Partial(ReduceOp::sum), Partial(ReduceOp::min)})}},
       .function = [](Given x) -> Tensors {
         return {unfold(x[0], {.dim = 0, .size = 3, .step = 2})};
       }});
}

Tensor gradient_of_windows(const Tensor& values, const Tensor& upstream, const Unfold& windows) {
  Tensor x = values.detach();
  set_requires_grad(x);
  backward(unfold(x, windows), {.gradients = {upstream}});
  return grad_of(x);
}

// If this fails, elements in several windows get gradients that are rounded after each window.
SIMMESH_TEST(UnfoldingStrategies, GradientsOfOverlappingWindowsAreRoundedOnce,
             {.mesh = {3}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  Unfold windows = {.dim = 0, .size = 4, .step = 1};
  Tensor values = formula({9, 6}, {.rule = Rule::unit, .seed = 1});
  Tensor upstream = div(formula({6, 6, 4}, {.rule = Rule::unit, .seed = 2}), 3.0);
  Tensor whole = gradient_of_windows(values, upstream, windows);
  for (const Placement& split :
       {Placement(Shard(0)), Placement(Shard(1)), Placement(Replicate())}) {
    Tensor x = distribute_tensor(values, mesh, {split}).as_tensor();
    Tensor up = distribute_tensor(upstream, mesh, {split}).as_tensor();
    DTensor gradient = DTensor::of(gradient_of_windows(x, up, windows));
    EXPECT_SAME_BITS(gradient.full_tensor(), whole);
  }
}

}  // namespace
}  // namespace simmesh
