#include "zero/stage3/quantized_gather.h"

#include <algorithm>
#include <cmath>

#include "core/autograd/variable.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/quantize.h"
#include "zero/stage3/stage3.h"

namespace simmesh::zero {
namespace {

// A holder of two parameters, 5x7 and 16 elements; the second is frozen.
struct TwoParameters final : nn::Module {
  TwoParameters() {
    register_parameter("a", formula({5, 7}, {.rule = Rule::unit, .seed = 1}));
    register_parameter("b", formula({16}, {.rule = Rule::unit, .seed = 2}));
    Tensor frozen = parameter("b");
    simmesh::set_requires_grad(frozen, false);
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return inputs; }
};

// Returns a flat parameter after every one of so many shards has quantised its part by itself.
Tensor through_8_bits(const Tensor& whole, std::int64_t ranks) {
  std::int64_t numel = whole.numel(), shard = (numel + ranks - 1) / ranks;
  Tensor flat = whole.contiguous().view(Dims{numel}), result = flat.clone();
  for (std::int64_t start = 0; start < numel; start += shard) {
    std::int64_t count = std::min(shard, numel - start);
    Tensor padded = zeros({(shard + 7) / 8 * 8}, whole.dtype());
    Tensor own = padded.narrow({0, 0, count}), part = result.narrow({0, start, count});
    copy_(own, flat.narrow({0, start, count}));
    copy_(part, dequantized(quantized_weights(padded), whole.dtype()).narrow({0, 0, count}));
  }
  return result.view(whole.shape());
}

// If this fails, weights in 8 bits depend on the other weights of their gather, or padding shifts
// them.
SIMMESH_TEST(QuantizedGather, QuantizesEachShardByItself, {.mesh = {4}, .schedules = 4}) {
  for (bool frozen_only : {false, true})
    for (std::int64_t secondary : {1, 2}) {
      TwoParameters model;
      Tensor a = model.parameter("a").detach(), b = model.parameter("b").detach();
      Config config = small_stage3();
      config.zero_optimization.zero_quantized_weights = !frozen_only;
      config.zero_optimization.zero_quantized_nontrainable_weights = frozen_only;
      config.zero_optimization.zero_hpz_partition_size = secondary;
      Stage3 stage({model, make_adamw, config, ProcessGroup::world()});
      stage.coordinator().reset();
      stage.coordinator().enter(0, Pass::forward);
      std::int64_t shards = secondary == 1 ? 4 : secondary;
      EXPECT_SAME_BITS(stage.params()[0].leaf().detach(),
                       frozen_only ? a : through_8_bits(a, shards));
      EXPECT_SAME_BITS(stage.params()[1].leaf().detach(), through_8_bits(b, shards));
      stage.coordinator().leave(0, Pass::forward);
      EXPECT_EQ(gathered_bytes(), 0);
    }
}

// If this fails, quantised gradients aren't the means of DeepSpeed's arithmetic in two hops.
SIMMESH_TEST(QuantizedGather, GradientsAreReducedInFourBits, {.mesh = {4}, .schedules = 4}) {
  nn::ModulePtr model = new_linear(4, 4);
  Config config = small_stage3();
  config.zero_optimization.zero_quantized_gradients = true;
  config.zero_optimization.zero_hpz_partition_size = 2;
  Stage3 stage({*model, make_adamw, config, ProcessGroup::world()});
  // Multiples of an eighth of the largest magnitude, which is negative, are exact in 4 bits.
  Tensor gradient = full({4, 4}, DType::float32, -8.0);
  stage.add_gradient(0, gradient);
  stage.add_gradient(1, full({4}, DType::float32, double(mesh.get_rank())));
  stage.end_gradients();
  EXPECT_SAME_BITS(stage.full_grad(0), gradient);
  EXPECT_SAME_BITS(stage.full_grad(1), full({4}, DType::float32, 1.5));
}

// If this fails, training with quantised weights differs between ranks or schedules, or its
// parameters are those of 8 bits instead of the shards.
SIMMESH_TEST(QuantizedGather, TrainsNearTheExactRun, {.mesh = {2}, .schedules = 8}) {
  Config config = small_stage3();
  ZeroRun exact_run = run_zero(three_linears, config, 1);
  config.zero_optimization.zero_quantized_weights = true;
  ZeroRun quantized_run = run_zero(three_linears, config, 1);
  double exact_loss = exact_run.losses[0].values<float>()[0];
  double loss = quantized_run.losses[0].values<float>()[0];
  EXPECT_NE(loss, exact_loss);
  // Weights are off by at most 1/256 of the largest, and four layers multiply.
  EXPECT_NEAR(loss, exact_loss, 0.1 * std::abs(exact_loss));
}

}  // namespace
}  // namespace simmesh::zero
