#include <gmock/gmock.h>

#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"
#include "zero/stage3/stage3.h"

// Offload in stage 3: the place of state changes no bit, only the ledger's charges.
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

// Two layers whose weights are worth a file on two ranks: shards of 2^18 float32 elements, 1 MiB.
nn::ModulePtr large_layers() {
  std::vector<nn::NamedModule> children = {{"first", new_linear(3, 512)},
                                           {"up", new_linear(512, 1024)},
                                           {"down", new_linear(1024, 512)},
                                           {"last", new_linear(512, 2, false)}};
  return std::make_shared<nn::Sequential>(children);
}

Config in_files(std::int64_t buffers, bool pipelined = false) {
  Config config = offloading(OffloadDevice::nvme, 1.0, pipelined);
  config.zero_optimization.sub_group_size = 1 << 18;
  config.zero_optimization.prefetch_bucket_size = 1 << 20;
  config.zero_optimization.max_live_parameters = 1 << 30;
  config.zero_optimization.max_reuse_distance = 0;
  config.zero_optimization.offload_param = OffloadParam{
      .device = OffloadDevice::nvme, .nvme_path = ::testing::TempDir(), .buffer_count = buffers};
  return config;
}

// If this fails, a bit gets lost on the way to a file and back, with any number of buffers.
SIMMESH_TEST(ZeroOffload, FilesChangeNoBit, {.mesh = {2}, .schedules = 1}) {
  Config whole = in_files(1);
  whole.zero_optimization.offload_param.reset();
  whole.zero_optimization.offload_optimizer.reset();
  ZeroRun expected = run_zero(large_layers, whole, 2);
  for (std::int64_t buffers : {0, 5})
    expect_same_run(run_zero(large_layers, in_files(buffers, buffers == 5), 2), expected);
}

// Shards below 1 MiB, or below a block of aio, stay in memory.
SIMMESH_TEST(ZeroOffload, SmallShardsStayInMemory, {.mesh = {2}, .schedules = 1}) {
  nn::ModulePtr model = large_layers();
  Config config = in_files(5);
  for (std::int64_t block : {1, 1 << 20, (1 << 20) + 1}) {
    config.aio.block_size = block;
    nn::ModulePtr trained = large_layers();
    Stage3 stage({*trained, make_adamw, config, ProcessGroup::world()});
    std::vector<std::string> in_file;
    for (std::size_t i = 0; i < stage.params().size(); ++i)
      if (stage.params()[ParamId(i)].is_in_file())
        in_file.push_back(stage.params()[ParamId(i)].name());
    if (block > 1 << 20)
      EXPECT_TRUE(in_file.empty());
    else
      EXPECT_EQ(in_file, (std::vector<std::string>{"up.weight", "down.weight"}));
  }
  config.aio.block_size = 1;
  config.zero_optimization.offload_param->buffer_size = (1 << 18) - 1;
  expect_error(
      [&] {
        Stage3({*model, make_adamw, config, ProcessGroup::world()});
      },
      ErrorKind::assertion_error,
      "offload_param.buffer_size: expected at least 262144, the elements of the shard of "
      "up.weight, got 262143");
}

// With buffers a large weight is read ahead and then prefetched; without, it is read and gathered
// when it is needed.
SIMMESH_TEST(ZeroOffload, BuffersLimitWhatIsReadAhead, {.mesh = {2}, .schedules = 1}) {
  auto prefetched = [&](std::int64_t buffers) {
    nn::ModulePtr model = large_layers();
    Engine engine = initialize(*model, make_adamw, in_files(buffers), ProcessGroup::world());
    std::vector<ParamId> ahead;
    NoGrad mode;
    for (int pass = 0; pass < 3; ++pass) {
      ahead.clear();
      ObserverScope observer([&](const Event& event) {
        if (event.kind == EventKind::prefetch)
          ahead.insert(ahead.end(), event.params.begin(), event.params.end());
      });
      engine(rank_input(mesh.get_rank(), 0, {2, 3}));
    }
    return ahead;
  };
  // 2 is the weight of `up`, 4 of `down`; 6 is that of `last`.
  using ::testing::Contains;
  EXPECT_THAT(prefetched(5), Contains(4));
  EXPECT_THAT(prefetched(0), ::testing::Not(Contains(2)));
  EXPECT_THAT(prefetched(0), ::testing::Not(Contains(4)));
}

struct Charged {
  std::int64_t state, parameters;
};

// Returns the charges after a step, for a model of 256 bfloat16 elements on two ranks.
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
  auto refuse = [&](const Config& config, const std::string& phrase,
                    ErrorKind kind = ErrorKind::assertion_error) {
    expect_error([&] { initialize(*model, make_adamw, config, ProcessGroup::world()); }, kind,
                 phrase);
  };
  Config config = offloading(OffloadDevice::nvme);
  config.zero_optimization.stage = 2;
  refuse(config, "offload_optimizer.device: expected none or cpu in stage 2");
  config.zero_optimization.stage = 3;
  config.zero_optimization.offload_optimizer->nvme_path.reset();
  refuse(config, "zero_optimization.offload_optimizer.nvme_path: expected a path");
  config = offloading(OffloadDevice::cpu, 0.5);
  config.zero_optimization.stage = 1;
  refuse(config, "offload_optimizer.ratio: expected 1", ErrorKind::value_error);
}

}  // namespace
}  // namespace simmesh::zero
