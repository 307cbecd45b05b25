#include "zero/config/optimizer_json.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

std::optional<OptimizerConfig> optimizer_of_text(const std::string& section,
                                                 bool offloads = false) {
  return read_optimizer(JsonValue::parse(section), offloads);
}

void expect_optimizer_refused(const std::string& section, const std::string& phrase,
                              ErrorKind kind = ErrorKind::value_error) {
  expect_error([&] { optimizer_of_text(section); }, kind, phrase);
}

// If this fails, an optimiser trains with another class's defaults.
TEST(OptimizerJson, GivesEachTypeItsDefaults) {
  EXPECT_EQ(optimizer_of_text(R"({"type": "ADAM"})")->type, "Adam");
  EXPECT_EQ(optimizer_of_text(R"({"type": "AdamW"})")->weight_decay, 0.0);
  EXPECT_EQ(optimizer_of_text(R"({"type": "AdamW", "params": {"torch_adam": true}})")->weight_decay,
            0.01);
  EXPECT_EQ(
      optimizer_of_text(R"({"type": "Adam", "params": {"torch_adam": true, "adam_w_mode": false}})")
          ->weight_decay,
      0.0);
  EXPECT_EQ(optimizer_of_text(R"({"type": "adagrad", "params": null})")->eps, 1e-10);
  EXPECT_EQ(optimizer_of_text(R"({"type": "lion"})")->betas[1], 0.999);
  EXPECT_EQ(optimizer_of_text(R"({"type": "RMSprop"})")->lr, 1e-2);
  EXPECT_FALSE(optimizer_of_text(R"({"params": {"lr": 1}})"));
  EXPECT_FALSE(optimizer_of_text(R"({"type": null})"));
}

TEST(OptimizerJson, ReadsParams) {
  OptimizerConfig sgd = *optimizer_of_text(
      R"({"type": "SGD", "params": {"lr": 0.1, "momentum": 0.5, "dampening": 0.25}, "note": 1})");
  EXPECT_EQ(sgd.dampening, 0.25);
  EXPECT_FALSE(optimizer_of_text(R"({"type": "Adam", "params": {"bias_correction": false}})")
                   ->bias_correction);
  EXPECT_TRUE(
      optimizer_of_text(R"({"type": "AdamW", "params": {"amsgrad": true, "torch_adam": true}})")
          ->amsgrad);
}

// The classes are those that Python raises from the constructors of the optimisers.
TEST(OptimizerJson, RefusesWhatTheClassesRefuse) {
  expect_optimizer_refused(R"({"type": "Adaam"})", "optimizer.type", ErrorKind::assertion_error);
  expect_optimizer_refused(R"({"type": "sgd"})", "optimizer.type", ErrorKind::assertion_error);
  expect_optimizer_refused(R"({"type": 1})", "optimizer.type", ErrorKind::attribute_error);
  expect_optimizer_refused(R"({"type": "Lion", "params": {"eps": 1}})", "optimizer.params.eps",
                           ErrorKind::type_error);
  expect_optimizer_refused(
      R"({"type": "Adam", "params": {"torch_adam": true, "bias_correction": true}})",
      "optimizer.params.bias_correction", ErrorKind::type_error);
  expect_optimizer_refused(R"({"type": "Adam", "params": {"amsgrad": true}})", "FusedAdam",
                           ErrorKind::runtime_error);
  expect_optimizer_refused(R"({"type": "Adam", "params": {"max_grad_norm": 1}})",
                           "use gradient_clipping");
  expect_optimizer_refused(R"({"type": "NAdam"})", "simmesh has no NAdam");
  expect_optimizer_refused(R"({"type": "muon"})", "simmesh has no muon");
}

// If this fails, a config that a program wrote trains something else when it is read.
TEST(OptimizerJson, WritesWhatItReads) {
  for (
      const char* section :
      {R"({"type": "Adam", "params": {"lr": 0.5, "adam_w_mode": false, "bias_correction": false}})",
       R"({"type": "AdamW", "params": {"torch_adam": true, "amsgrad": true, "maximize": true}})",
       R"({"type": "Adagrad", "params": {"lr_decay": 0.5, "initial_accumulator_value": 2}})",
       R"({"type": "Lion", "params": {"betas": [0.5, 0.75], "weight_decay": 0.25}})",
       R"({"type": "SGD", "params": {"momentum": 0.5, "nesterov": true}})",
       R"({"type": "RMSprop", "params": {"alpha": 0.5, "centered": true, "momentum": 0.25}})"}) {
    JsonValue once = written_optimizer(*optimizer_of_text(section));
    JsonValue twice = written_optimizer(*read_optimizer(once, false));
    EXPECT_EQ(twice.text(), once.text());
    OptimizerConfig other = *optimizer_of_text(section);
    other.lr *= 2;
    EXPECT_NE(written_optimizer(other).text(), once.text());
  }
}

}  // namespace
}  // namespace simmesh::zero
