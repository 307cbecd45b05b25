#include <gtest/gtest.h>

#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"

// Offload in stage 3: where state lies changes no bit, and what the ledger charges.
namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

Config offloading(OffloadDevice device, double ratio = 1.0, bool pipelined = false) {
  Config config = small_stage3();
  config.zero_optimization.offload_optimizer = OffloadOptimizer{.device = device,
                                                                .nvme_path = ::testing::TempDir(),
                                                                .buffer_count = 2,
                                                                .pipeline_read = pipelined,
                                                                .pipeline_write = pipelined,
                                                                .ratio = ratio};
  return config;
}

SIMMESH_TEST(ZeroOffload, ChangesNoBit,
             {.mesh = {3}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ZeroRun expected = run_zero(three_linears, small_stage3());
  for (double ratio : {1.0, 0.5})
    for (OffloadDevice device : {OffloadDevice::cpu, OffloadDevice::nvme}) {
      expect_same_run(run_zero(three_linears, offloading(device, ratio)), expected);
      expect_same_run(run_zero(three_linears, offloading(device, ratio, true)), expected);
    }
  for (OffloadDevice device : {OffloadDevice::cpu, OffloadDevice::nvme}) {
    Config config = offloading(OffloadDevice::nvme);
    config.zero_optimization.offload_param =
        OffloadParam{.device = device, .nvme_path = ::testing::TempDir(), .buffer_count = 3};
    expect_same_run(run_zero(three_linears, config), expected);
  }
}

struct Charged {
  std::int64_t state, parameters;
};

// What is charged after a step, of a model of 256 bfloat16 elements on two ranks.
Charged charged_with(const Config& config) {
  nn::ModulePtr model = new_linear(16, 16, false, DType::bfloat16);
  set_by_formula(*model);
  Engine engine = initialize(*model, make_adamw, config, ProcessGroup::world());
  Tensor input = rank_input(ProcessGroup::world().rank(), 0, {1, 16});
  engine.backward(sum(engine(to(input, DType::bfloat16))));
  engine.step();
  Ledger& ledger = *Ledger::active();
  return {ledger.of(MemoryCategory::optimizer_state).current,
          ledger.of(MemoryCategory::parameter).current};
}

SIMMESH_TEST(ZeroOffload, IsNotCharged, {.mesh = {2}, .schedules = 2}) {
  Config config = small_stage3();
  Charged on_device = charged_with(config);
  EXPECT_EQ(on_device.state, 3 * 128 * 4);
  EXPECT_EQ(on_device.parameters, 128 * 2);
  for (OffloadDevice device : {OffloadDevice::cpu, OffloadDevice::nvme})
    EXPECT_EQ(charged_with(offloading(device)).state, 0);
  for (OffloadDevice device : {OffloadDevice::cpu, OffloadDevice::nvme}) {
    config.zero_optimization.offload_param =
        OffloadParam{.device = device, .nvme_path = ::testing::TempDir()};
    EXPECT_EQ(charged_with(config).parameters, 0);
  }
}

// With a ratio of 0.5 the first of two tiles stays on the device.
SIMMESH_TEST(ZeroOffload, TheRatioKeepsTheFirstTiles, {.mesh = {2}, .schedules = 2}) {
  std::vector<nn::NamedModule> children = {{"a", new_linear(4, 4, false)},
                                           {"b", new_linear(4, 8, false)}};
  nn::Sequential model(children, std::vector<std::string>{"a", "b"});
  set_by_formula(model);
  Config config = offloading(OffloadDevice::cpu, 0.5);
  config.zero_optimization.sub_group_size = 1;
  Engine engine = initialize(model, make_adamw, config, ProcessGroup::world());
  engine.backward(sum(engine(rank_input(mesh.get_rank(), 0, {1, 4}))));
  engine.step();
  EXPECT_EQ(Ledger::active()->of(MemoryCategory::optimizer_state).current, 2 * 8 * 4);
}

SIMMESH_TEST(ZeroOffload, RefusesWhatAStageDoesNotHave, {.mesh = {2}, .schedules = 1}) {
  nn::ModulePtr model = new_linear(2, 2);
  auto refuse = [&](const Config& config, const std::string& phrase) {
    expect_error([&] { initialize(*model, make_adamw, config, ProcessGroup::world()); },
                 ErrorKind::assertion_error, phrase);
  };
  Config config = offloading(OffloadDevice::nvme);
  config.zero_optimization.stage = 2;
  refuse(config, "offload_optimizer.device: expected none or cpu in stage 2");
  config.zero_optimization.stage = 3;
  config.zero_optimization.offload_optimizer->nvme_path.reset();
  refuse(config, "zero_optimization.offload_optimizer.nvme_path: expected a path");
  config = offloading(OffloadDevice::cpu, 0.5);
  config.zero_optimization.stage = 1;
  refuse(config, "offload_optimizer.ratio: expected 1");
}

}  // namespace
}  // namespace simmesh::zero
