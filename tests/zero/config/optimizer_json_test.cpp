#include "zero/config/optimizer_json.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"
#include "zero/config/optimizer_types.h"

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
  expect_optimizer_refused(R"({"type": "LBFGS"})", "'closure'", ErrorKind::type_error);
  expect_optimizer_refused(R"({"type": "SparseAdam"})", "does not support dense gradients",
                           ErrorKind::runtime_error);
  expect_optimizer_refused(R"({"type": "nadam"})", "optimizer.type", ErrorKind::assertion_error);
  expect_optimizer_refused(R"({"type": "MuAdam"})", "simmesh has no MuAdam");
  expect_optimizer_refused(R"({"type": "lamb", "params": {"amsgrad": true}})", "FusedLamb",
                           ErrorKind::runtime_error);
  expect_optimizer_refused(R"({"type": "Rprop", "params": {"etas": [1.5, 2]}})", "etas[0]");
  expect_optimizer_refused(R"({"type": "NAdam", "params": {"betas": [0.5, 1]}})", "betas");
  expect_optimizer_refused(R"({"type": "Adafactor", "params": {"beta2_decay": 1}})", "beta2_decay");
  expect_optimizer_refused(R"({"type": "Adafactor", "params": {"eps": 1e-3}})", "eps",
                           ErrorKind::type_error);
  expect_optimizer_refused(R"({"type": "Adafactor", "params": {"d": 0.5}})", "params.d");
  expect_optimizer_refused(R"({"type": "Adadelta", "params": {"rho": 2}})", "rho");
  expect_optimizer_refused(R"({"type": "SGD", "params": {"nesterov": true}})", "Nesterov");
  expect_optimizer_refused(R"({"type": "muon", "params": {"ns_method": "qr"}})", "ns_method",
                           ErrorKind::assertion_error);
  expect_optimizer_refused(R"({"type": "muon", "params": {"per_head_muon": true}})",
                           "simmesh has no Muon by heads");
}

// If this fails, one half of Muon trains with the rate of the other, or with a default.
TEST(OptimizerJson, MuonSharesItsRate) {
  OptimizerConfig none = *optimizer_of_text(R"({"type": "muon"})");
  EXPECT_EQ(none.muon_lr, 0.02);
  EXPECT_EQ(none.adam_lr, 3e-4);
  EXPECT_EQ(none.momentum, 0.95);
  EXPECT_EQ(none.betas[1], 0.95);
  OptimizerConfig one = *optimizer_of_text(
      R"({"type": "Muon", "params": {"lr": 0.5, "adam_lr": 0.25, "a_key_of_no_half": 1}})");
  EXPECT_EQ(one.muon_lr, 0.5);
  EXPECT_EQ(one.adam_lr, 0.25);
  OptimizerConfig pair =
      *optimizer_of_text(R"({"type": "Adafactor", "params": {"eps": [null, 0.5]}})");
  EXPECT_FALSE(pair.eps1);
  EXPECT_EQ(pair.eps2, 0.5);
  EXPECT_TRUE(optimizer_type("MUON").ignores_others);
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
       R"({"type": "RMSprop", "params": {"alpha": 0.5, "centered": true, "momentum": 0.25}})",
       R"({"type": "Adadelta", "params": {"rho": 0.5}})",
       R"({"type": "Adamax", "params": {"betas": [0.5, 0.75]}})",
       R"({"type": "NAdam", "params": {"momentum_decay": 0.5}})",
       R"({"type": "RAdam", "params": {"decoupled_weight_decay": true}})",
       R"({"type": "Rprop", "params": {"etas": [0.25, 1.5], "step_sizes": [0.5, 2]}})",
       R"({"type": "ASGD", "params": {"lambd": 0.5, "t0": 3}})",
       R"({"type": "Adafactor", "params": {"eps": [0.5, 0.25], "d": 2}})",
       R"({"type": "Lamb", "params": {"max_coeff": 0.5, "eps_inside_sqrt": true}})",
       R"({"type": "Muon", "params": {"lr": 0.5, "ns_method": "standard"}})"}) {
    JsonValue once = written_optimizer(*optimizer_of_text(section));
    JsonValue twice = written_optimizer(*read_optimizer(once, false));
    EXPECT_EQ(twice.text(), once.text());
    OptimizerConfig other = *optimizer_of_text(section);
    other.lr *= 2;
    other.muon_lr *= 2;
    EXPECT_NE(written_optimizer(other).text(), once.text());
  }
}

}  // namespace
}  // namespace simmesh::zero
