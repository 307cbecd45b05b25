#include "zero/engine/master_dtype.h"

#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/optim/adam.h"
#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

Config half_masters(std::int64_t stage, bool keeps_16_bit_state, bool offloads) {
  Config config{.gradient_clipping = 0};
  config.zero_optimization = {.stage = stage, .param_persistence_threshold = 0};
  config.bf16 = {.enabled = true,
                 .bf16_master_weights_and_grads = true,
                 .bf16_optimizer_states = keeps_16_bit_state};
  if (offloads)
    config.zero_optimization.offload_optimizer = OffloadOptimizer{.device = OffloadDevice::cpu};
  config.optimizer = OptimizerConfig{.type = "Adam", .lr = 0.125};
  return config;
}

// If this fails, state takes twice the memory that a file asks for, or is rounded where it isn't.
TEST(MasterDtype, FollowsTheSections) {
  Config config;
  EXPECT_EQ(master_dtype(config), DType::float32);
  EXPECT_TRUE(has_float32_state(config));
  config.fp16.fp16_master_weights_and_grads = true;
  EXPECT_EQ(master_dtype(config), DType::float16);
  EXPECT_EQ(master_dtype(half_masters(1, true, false)), DType::bfloat16);
  EXPECT_FALSE(has_float32_state(half_masters(1, true, false)));
  EXPECT_FALSE(has_float32_state(half_masters(1, true, true)));
  EXPECT_TRUE(has_float32_state(half_masters(1, false, true)));
  Config narrow = half_masters(1, false, true);
  narrow.optimizer->fp32_optimizer_states = false;
  EXPECT_FALSE(has_float32_state(narrow));
}

TEST(MasterDtype, NeedsOffloadAsInDeepSpeed) {
  auto refuses = [](const Config& config, bool is_adam, const char* phrase) {
    expect_error([&] { check_masters(config, is_adam); }, ErrorKind::assertion_error, phrase);
  };
  EXPECT_NO_THROW(check_masters(half_masters(2, true, false), false));
  EXPECT_NO_THROW(check_masters(half_masters(2, false, true), true));
  refuses(half_masters(2, false, false), true, "requires ZeRO-2 Offload with DeepSpeedCPUAdam");
  refuses(half_masters(3, true, true), false, "got another optimizer");
  Config both = half_masters(2, true, false);
  both.fp16.fp16_master_weights_and_grads = true;
  refuses(both, true, "mutually exclusive");
}

struct HalfRun {
  Tensor master, average;
};

HalfRun half_run(const Config& config, const ProcessGroup& group, std::int64_t rank) {
  auto model = new_linear(3, 2, false, DType::bfloat16);
  set_by_formula(*model);
  Engine engine = initialize(*model, config, group);
  for (int step = 0; step < 3; ++step) {
    Tensor output = engine(to(rank_input(rank, step, {2, 3}), DType::bfloat16));
    engine.backward(sum(to(mul(output, output), DType::float32)));
    engine.step();
  }
  for (const auto& [name, master] : engine.masters()) EXPECT_EQ(master.dtype(), DType::bfloat16);
  for (const auto& [name, state] : engine.optimizer().state(0))
    EXPECT_EQ(state.dtype(), has_float32_state(config) ? DType::float32 : DType::bfloat16);
  return {engine.safe_get_full_fp32_param("weight"),
          engine.safe_get_full_optimizer_state("weight", "exp_avg")};
}

// A rank with all elements does what all ranks do together. If this fails, a stage rounds a master
// or its gradient at another place.
SIMMESH_TEST(MasterDtype, MastersOf16BitsEqualThoseOfOneDevice, {.mesh = {2}, .schedules = 4}) {
  ProcessGroup alone = ProcessGroup::of(RankList::of({std::int64_t(this_rank().id())}));
  for (auto [keeps, offloads] : {std::pair(true, false), {false, true}, {true, true}}) {
    HalfRun expected = half_run(half_masters(1, keeps, offloads), alone, 0);
    for (std::int64_t stage = 1; stage <= 3; ++stage) {
      HalfRun run = half_run(half_masters(stage, keeps, offloads), ProcessGroup::world(), 0);
      EXPECT_SAME_BITS(run.master, expected.master);
      EXPECT_SAME_BITS(to(run.average, DType::float32), expected.average);
    }
  }
}

// The wide state of a narrow parameter isn't rounded. If this fails, small gradients are lost.
TEST(MasterDtype, AdamKeepsWideStateOfNarrowParameters) {
  Tensor wide = tensor_of<float>({2}, {1.0F, -0.5F});
  Tensor narrow = to(wide, DType::bfloat16);
  for (Tensor* p : {&wide, &narrow}) set_requires_grad(*p);
  optim::AdamOptions options{.lr = 0.125, .beta1 = 0.9, .float32_state = true};
  optim::Adam of_wide({wide}, options), of_narrow({narrow}, options);
  set_grad(wide, tensor_of<float>({2}, {0.375F, 0.25F}));
  set_grad(narrow, to(grad_of(wide), DType::bfloat16));
  of_wide.step();
  of_narrow.step();
  EXPECT_TRUE(same_bits(of_narrow.state(0).at("exp_avg"), of_wide.state(0).at("exp_avg")));
  EXPECT_TRUE(same_bits(narrow.detach(), to(wide.detach(), DType::bfloat16)));
}

}  // namespace
}  // namespace simmesh::zero
