#include "zero/config/scheduler_json.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::optional<SchedulerConfig> read(const std::string& text) {
  return read_scheduler(JsonValue::parse(text));
}

void expect_schedule_refused(const std::string& text, const std::string& phrase,
                             ErrorKind kind = ErrorKind::value_error) {
  expect_error([&] { read(text); }, kind, phrase);
}

// If this fails, a type is read as another, or a number as a list.
TEST(SchedulerJson, ReadsEachType) {
  auto warmup = read(R"({"type": "WarmupLR", "params": {"warmup_min_lr": [0.5, 0.25],
                         "warmup_type": "linear"}})");
  EXPECT_EQ(std::get<WarmupLR>(*warmup).warmup_min_lr, PerGroup(std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(std::get<WarmupLR>(*warmup).warmup_type, WarmupType::linear);
  EXPECT_FALSE(std::get<WarmupLR>(*warmup).warmup_max_lr);
  auto decay = read(R"({"type": "WarmupDecayLR", "params": {"total_num_steps": 9}})");
  EXPECT_EQ(std::get<WarmupDecayLR>(*decay).warmup_max_lr, PerGroup(0.001));
  auto cosine = read(R"({"type": "WarmupCosineLR", "params": {"total_num_steps": 9,
                         "cos_min_ratio": 0.25}})");
  EXPECT_EQ(std::get<WarmupCosineLR>(*cosine).cos_min_ratio, 0.25);
  auto cycle = read(R"({"type": "OneCycle", "params": {"cycle_min_lr": 1, "cycle_max_lr": 2,
                        "cycle_second_step_size": 7, "cycle_momentum": false}})");
  EXPECT_EQ(std::get<OneCycle>(*cycle).cycle_second_step_size, 7.0);
  EXPECT_FALSE(std::get<OneCycle>(*cycle).cycle_momentum);
  auto range = read(R"({"type": "LRRangeTest", "params": {"lr_range_test_step_size": 3}})");
  EXPECT_EQ(std::get<LRRangeTest>(*range).lr_range_test_step_size, 3);
  EXPECT_EQ(std::get<WarmupLR>(*read(R"({"type": "WarmupLR", "note": 1})")).warmup_num_steps,
            WarmupLR().warmup_num_steps);
  EXPECT_FALSE(read(R"({"type": null})"));
  EXPECT_FALSE(read("{}"));
}

TEST(SchedulerJson, NamesWhatIsWrong) {
  expect_schedule_refused(R"({"type": "StepLR", "params": {}})",
                          "step_size: expected a value for StepLR, got none",
                          ErrorKind::type_error);
  expect_schedule_refused(R"({"type": "Steps"})", "scheduler.type: expected WarmupLR",
                          ErrorKind::assertion_error);
  expect_schedule_refused(R"({"type": "WarmupLR", "params": 1})",
                          "scheduler.params: expected an object", ErrorKind::type_error);
  expect_schedule_refused("null", "scheduler: expected an object", ErrorKind::attribute_error);
  expect_schedule_refused(R"({"type": "WarmupLR", "params": {"warm": 1}})",
                          "scheduler.params.warm: expected", ErrorKind::type_error);
  expect_schedule_refused(R"({"type": "WarmupLR", "params": {"warmup_num_steps": 0}})",
                          "warmup_num_steps: expected a number greater than 0");
  expect_schedule_refused(R"({"type": "WarmupLR", "params": {"warmup_num_steps": 1e3}})",
                          "warmup_num_steps: expected an integer");
  expect_schedule_refused(R"({"type": "WarmupLR", "params": {"warmup_type": "cubic"}})",
                          "warmup_type: expected 'log' or 'linear'");
  expect_schedule_refused(R"({"type": "WarmupLR", "params": {"warmup_min_lr": [1, "x"]}})",
                          "warmup_min_lr[1]: expected a valid number");
  for (const char* type : {"WarmupDecayLR", "WarmupCosineLR"})
    expect_schedule_refused(fmt::format(R"({{"type": "{}", "params": {{}}}})", type),
                            fmt::format("total_num_steps: expected a value for {}, got none", type),
                            ErrorKind::type_error);
  expect_schedule_refused(R"({"type": "OneCycle", "params": {"cycle_min_lr": 1}})",
                          "cycle_max_lr: expected a value for OneCycle", ErrorKind::type_error);
  expect_schedule_refused(
      R"({"type": "OneCycle", "params": {"cycle_min_lr": 1, "cycle_max_lr": 1,
          "cycle_first_step_size": 0}})",
      "cycle_first_step_size: expected a number greater than 0");
}

TEST(SchedulerJson, ReadsTypesOfPyTorch) {
  auto steps = read(R"({"type": "MultiStepLR", "params": {"milestones": [3, 5]}})");
  EXPECT_EQ(std::get<MultiStepLR>(*steps).milestones, (std::vector<std::int64_t>{3, 5}));
  EXPECT_TRUE(is_torch_scheduler(*steps));
  EXPECT_FALSE(is_torch_scheduler(WarmupLR()));
  auto cycle = read(R"({"type": "OneCycleLR", "params": {"max_lr": [1, 2], "epochs": 3,
                        "steps_per_epoch": 5}})");
  EXPECT_EQ(std::get<OneCycleLR>(*cycle).steps_per_epoch, 5);
  EXPECT_EQ(std::get<CyclicLR>(*read(R"({"type": "CyclicLR", "params": {"base_lr": 1, "max_lr": 2,
                                         "mode": "exp_range", "scale_fn": null}})"))
                .mode,
            "exp_range");
}

// If this fails, a scheduler that PyTorch can't make, or an engine can't step, is left alone.
TEST(SchedulerJson, RefusesWhatPyTorchRefuses) {
  for (const char* type :
       {"LambdaLR", "MultiplicativeLR", "SequentialLR", "ChainedScheduler", "ReduceLROnPlateau"})
    expect_schedule_refused(fmt::format(R"({{"type": "{}"}})", type), type, ErrorKind::type_error);
  expect_schedule_refused(R"({"type": "LRScheduler"})", "get_lr()",
                          ErrorKind::not_implemented_error);
  expect_schedule_refused(R"({"type": "StepLR", "params": {"step_size": 1, "last_epoch": 3}})",
                          "'initial_lr' is not specified", ErrorKind::key_error);
  expect_schedule_refused(R"({"type": "CyclicLR", "params": {"base_lr": 1, "max_lr": 2,
                              "scale_fn": 1}})",
                          "not callable", ErrorKind::type_error);
  expect_schedule_refused(R"({"type": "CyclicLR", "params": {"base_lr": 1, "max_lr": 2,
                              "mode": "square"}})",
                          "mode: expected one of triangular");
  expect_schedule_refused(R"({"type": "OneCycleLR", "params": {"max_lr": 1}})",
                          "You must define either total_steps");
  expect_schedule_refused(R"({"type": "OneCycleLR", "params": {"max_lr": 1, "total_steps": 5.0}})",
                          "total_steps: expected a positive integer");
  expect_schedule_refused(R"({"type": "ConstantLR", "params": {"factor": 2}})", "factor");
  expect_schedule_refused(R"({"type": "LinearLR", "params": {"start_factor": 2}})", "start_factor");
}

TEST(SchedulerJson, WritesWhatItReads) {
  for (const SchedulerConfig& scheduler :
       {SchedulerConfig(WarmupLR{.warmup_min_lr = std::vector<double>{0.5, 0.125}}),
        SchedulerConfig(WarmupDecayLR{.total_num_steps = 7}),
        SchedulerConfig(WarmupCosineLR{.total_num_steps = 7, .warmup_type = WarmupType::linear}),
        SchedulerConfig(OneCycle{.cycle_max_lr = 0.5, .cycle_second_step_size = 3}),
        SchedulerConfig(LRRangeTest{.lr_range_test_staircase = true}),
        SchedulerConfig(StepLR{.step_size = 3}), SchedulerConfig(MultiStepLR{.milestones = {2, 4}}),
        SchedulerConfig(ConstantLR{.factor = 0.5}), SchedulerConfig(LinearLR{.total_iters = 7}),
        SchedulerConfig(ExponentialLR{.gamma = 0.5}), SchedulerConfig(PolynomialLR{.power = 2.0}),
        SchedulerConfig(CosineAnnealingLR{.T_max = 9, .eta_min = 0.25}),
        SchedulerConfig(CosineAnnealingWarmRestarts{.T_0 = 3, .T_mult = 2}),
        SchedulerConfig(CyclicLR{.max_lr = 1.0, .step_size_down = 3, .mode = "triangular2"}),
        SchedulerConfig(OneCycleLR{.max_lr = 1.0, .total_steps = 9, .three_phase = true})}) {
    std::string text = written_scheduler(scheduler).text();
    EXPECT_EQ(written_scheduler(*read(text)).text(), text);
    EXPECT_EQ(read(text)->index(), scheduler.index());
  }
}

}  // namespace
}  // namespace simmesh::zero
