#include "zero/stage3/sharded_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

#include "core/optim/sgd.h"
#include "testing/gtest.h"
#include "tests/zero/cut_parameters.h"

namespace simmesh::zero {
namespace {

std::unique_ptr<optim::Optimizer> plain_descent(const std::vector<nn::NamedTensor>& masters) {
  std::vector<Tensor> tensors;
  for (const auto& [name, master] : masters) tensors.push_back(master);
  return std::make_unique<optim::Sgd>(tensors, optim::SgdOptions{.lr = 1.0});
}

// Parameters of four and two elements over two ranks; every element's gradient is `gradient`.
struct Stepped {
  explicit Stepped(const Config& given, float gradient = 1.0f)
      : config(given), cut({4, 2}, {}, true), gradients(*cut.params, {}) {
    for (Tensor shard : {(*cut.params)[0].own_part(), (*cut.params)[1].own_part()})
      for (float& element : shard.mutable_values<float>()) element = 10;
    MakeOptimizer make = plain_descent;
    ProcessGroup all = ProcessGroup::world();
    optimizer =
        std::make_unique<ShardedOptimizer>(*cut.params, StageSetup{cut.module, make, config, all});
    gradients.add(0, full({4}, DType::float32, gradient));
    gradients.add(1, full({2}, DType::float32, gradient));
    gradients.flush();
  }

  Config config;
  CutParameters cut;
  GradientShards gradients;
  std::unique_ptr<ShardedOptimizer> optimizer;
};

// If this fails, a step changes other elements than the rank's own, or by another gradient.
SIMMESH_TEST(ShardedOptimizer, StepsTheOwnShards, {.mesh = {2}, .schedules = 4}) {
  Config config;
  config.gradient_clipping = 0;
  Stepped stepped(config);
  StepResult result = stepped.optimizer->step(stepped.gradients, 1.0);
  EXPECT_TRUE(result.is_applied);
  EXPECT_NEAR(*result.norm, std::sqrt(6.0), 1e-6);
  ASSERT_EQ(stepped.optimizer->masters().size(), 2u);
  for (const auto& [name, master] : stepped.optimizer->masters()) {
    Tensor values = master.detach();
    for (float element : values.values<float>()) EXPECT_EQ(element, 9) << name;
  }
  EXPECT_EQ(stepped.optimizer->master_bytes(), 0);
}

// If this fails, each rank clips by its own norm.
SIMMESH_TEST(ShardedOptimizer, ClipsByTheNormOfAllRanks, {.mesh = {2}, .schedules = 4}) {
  Config config;
  config.gradient_clipping = 1.0;
  Stepped stepped(config, 3.0f);
  EXPECT_NEAR(*stepped.optimizer->step(stepped.gradients, 1.0).norm, 3 * std::sqrt(6.0), 1e-5);
  // Each element moves by 1 / sqrt(6), up to the rounding of float32.
  EXPECT_NEAR(stepped.optimizer->masters()[0].second.detach().values<float>()[0],
              10 - 1 / std::sqrt(6.0), 1e-5);
}

// If this fails, tiles hold more than sub_group_size allows, and state doesn't fit where it should.
SIMMESH_TEST(ShardedOptimizer, TilesAreBounded, {.mesh = {2}, .schedules = 2}) {
  Config config;
  config.zero_optimization.sub_group_size = 2;
  EXPECT_EQ(Stepped(config).optimizer->tiles().size(), 2u);
  EXPECT_EQ(Stepped(Config{}).optimizer->tiles().size(), 1u);
}

}  // namespace
}  // namespace simmesh::zero
