#include "zero/engine/lower_dtypes.h"

#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/nn/containers.h"
#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "zero/engine/engine.h"
#include "zero/stage3/gathered_parameters.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::unique_ptr<nn::Linear> small_linear() {
  auto model = std::make_unique<nn::Linear>(nn::Linear::Options{3, 2, false});
  Tensor weight = model->parameter("weight").detach();
  copy_(weight, formula({2, 3}, {.rule = Rule::wide, .seed = 1}));
  return model;
}

Config autocast_config(std::int64_t stage, DType dtype) {
  Config config{.gradient_clipping = 0, .zero_allow_untested_optimizer = true};
  config.zero_optimization.stage = stage;
  config.zero_optimization.param_persistence_threshold = 0;
  config.torch_autocast = {.enabled = true, .dtype = dtype};
  config.optimizer = OptimizerConfig{.type = "SGD", .lr = 0.125};
  return config;
}

// If this fails, parameters of other modules lose bits in communication, or none do.
TEST(ZeroLowerDtypes, ThoseOfTheListedClasses) {
  auto linear = std::make_shared<nn::Linear>(nn::Linear::Options{2, 2, true});
  auto rows = std::make_shared<nn::Embedding>(nn::Embedding::Options{.count = 3, .width = 2});
  auto dtypes_of = [&](const TorchAutocast& autocast) {
    std::vector<std::optional<DType>> dtypes = lower_dtypes(*linear, autocast);
    dtypes.push_back(lower_dtype(*rows, autocast));
    return dtypes;
  };
  using Dtypes = std::vector<std::optional<DType>>;
  constexpr DType lower = DType::bfloat16;
  TorchAutocast autocast{.enabled = true, .dtype = lower};
  EXPECT_EQ(dtypes_of(autocast), (Dtypes{lower, lower, {}}));
  autocast.lower_precision_safe_modules = {{"torch.nn.modules.sparse.Embedding"}};
  EXPECT_EQ(dtypes_of(autocast), (Dtypes{{}, {}, lower}));
  EXPECT_EQ(dtypes_of({.enabled = true}), (Dtypes{{}, {}, {}}));
  EXPECT_EQ(dtypes_of({.enabled = false, .dtype = lower}), (Dtypes{{}, {}, {}}));
}

// If this fails, a step in float16 without an overflow isn't that of unscaled gradients, ranks
// decide differently, or a scale that is too large never falls.
SIMMESH_TEST(ZeroLowerDtypes, Float16ScalesTheLoss, {.mesh = {2}, .schedules = 4}) {
  for (std::int64_t stage : {0, 1, 2, 3}) {
    std::unique_ptr<nn::Linear> model = small_linear();
    Engine engine =
        initialize(*model, autocast_config(stage, DType::float16), ProcessGroup::world());
    Tensor x = formula({4, 3}, {.rule = Rule::small, .seed = std::uint64_t(5 + this_rank().id())});
    auto train = [&](double factor) {
      Tensor y = engine(x);
      EXPECT_EQ(y.dtype(), DType::float16);
      engine.backward(mul(sum(to(y, DType::float32)), factor));
      engine.step();
    };
    train(1.0);  // a gradient of 65536 has no place in float16
    EXPECT_FALSE(engine.was_step_applied());
    EXPECT_EQ(engine.loss_scale(), 32768.0);
    train(1.0 / 1024);
    EXPECT_TRUE(engine.was_step_applied());
    EXPECT_EQ(engine.loss_scale(), 32768.0);
    GatheredParameters whole(*model);
    Tensor rows = formula({4, 3}, {.rule = Rule::small, .seed = 5});
    Tensor others = formula({4, 3}, {.rule = Rule::small, .seed = 6});
    Tensor mean = div(add(sum(rows, 0), sum(others, 0)), 2.0 * 1024);
    Tensor weight = formula({2, 3}, {.rule = Rule::wide, .seed = 1});
    Tensor expected = sub(weight, mul(mean, 0.125));
    EXPECT_TRUE(same_bits(model->parameter("weight").detach(), expected)) << stage;
  }
}

// If this fails, an engine takes what DeepSpeed's refuses.
SIMMESH_TEST(ZeroLowerDtypes, RefusesWhatDeepSpeedRefuses, {.mesh = {1}}) {
  std::unique_ptr<nn::Linear> model = small_linear();
  Config config = autocast_config(1, DType::bfloat16);
  auto make = [&] { initialize(*model, config, ProcessGroup::world()); };
  config.torch_autocast.lower_precision_safe_modules = {{"Linear"}};
  expect_error(make, ErrorKind::value_error, "expected a list of dotted names of classes");
  config.torch_autocast.lower_precision_safe_modules = {};
  config.zero_optimization.zero_quantized_weights = true;
  expect_error(make, ErrorKind::assertion_error, "false with torch_autocast");
}

}  // namespace
}  // namespace simmesh::zero
