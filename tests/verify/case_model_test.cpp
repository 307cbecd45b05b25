#include "verify/case_model.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

RecordedCase model_case(const std::string& parameters, const std::string& more = "") {
  return RecordedCase::parse(
      R"({"kind":"k","id":"i","model":{"name":"","kind":"sequential","children":[)"
      R"({"name":"a","kind":"linear","in":2,"out":3,"bias":false},{"name":"b","kind":"relu"}]},)"
      R"("params":[)" +
          parameters + "]" + more + "}",
      {.file = "a.jsonl"});
}

const std::string weight =
    R"({"name":"a.weight","shape":[3,2],"rule":"unit","seed":7,"scale":0.5})";

// If this fails, a case trains another model than the recorded one.
TEST(CaseModel, ReadsModulesAndParameters) {
  RecordedCase recorded = model_case(
      weight, R"(,"dtype":"bfloat16","tied":[["b.x","a.weight"]],"frozen":["a.weight"])");
  TrainingModel model = read_model(recorded);
  ASSERT_EQ(model.node.children.size(), 2u);
  EXPECT_EQ(model.node.children[0].kind, "linear");
  EXPECT_EQ(std::get<std::int64_t>(model.node.children[0].fields.at("out")), 3);
  EXPECT_EQ(std::get<bool>(model.node.children[0].fields.at("bias")), false);
  EXPECT_EQ(model.dtype, DType::bfloat16);
  EXPECT_EQ(model.parameters[0].data.seed, 7u);
  EXPECT_EQ(model.parameters[0].scale, 0.5);
  EXPECT_EQ(model.tied[0].first, "b.x");
  EXPECT_EQ(model.frozen[0], "a.weight");
}

TEST(CaseModel, ParametersMustBeThoseOfTheModules) {
  auto require = [](const std::string& parameters) {
    RecordedCase recorded = model_case(parameters);
    require_parameters(recorded["params"], read_model(recorded));
  };
  EXPECT_NO_THROW(require(weight));
  expect_error([&] { require(""); }, ErrorKind::value_error,
               "the parameter a.weight [3, 2] at place 0");
  expect_error([&] { require(weight + "," + weight); }, ErrorKind::value_error,
               "1 parameters, those of the modules");
}

TEST(CaseModel, ChildrenHaveNamesOfTheirOwn) {
  RecordedCase twice = RecordedCase::parse(
      R"({"kind":"k","id":"i","model":{"name":"","kind":"sequential","children":[)"
      R"({"name":"a","kind":"relu"},{"name":"a","kind":"relu"}]}})",
      {.file = "a.jsonl"});
  expect_error([&] { read_node(twice["model"]); }, ErrorKind::value_error, "a name of its own");
}

// If this fails, a case trains with another optimizer, or with PyTorch's default in place of 0.
TEST(CaseModel, ReadsOptimizers) {
  RecordedCase recorded =
      RecordedCase::parse(R"({"kind":"k","id":"i","s":{"name":"sgd","lr":0.5,"momentum":0.25},)"
                          R"("a":{"name":"adamw","lr":0.5,"betas":[0.5,0.75],"eps":0.125}})",
                          {});
  auto sgd = std::get<optim::SgdOptions>(read_optimizer(recorded["s"]));
  EXPECT_EQ(sgd.momentum, 0.25);
  EXPECT_EQ(sgd.weight_decay, 0);
  auto adam = std::get<AdamSpec>(read_optimizer(recorded["a"]));
  EXPECT_EQ(adam.decay, optim::WeightDecay::decoupled);
  EXPECT_EQ(adam.options.beta2, 0.75);
  EXPECT_EQ(adam.options.eps, 0.125);
  EXPECT_EQ(adam.options.weight_decay, 0);
  EXPECT_EQ(number_or(recorded["s"], "momentum", 9), 0.25);
  EXPECT_EQ(number_or(recorded["s"], "dampening", 9), 9);
}

}  // namespace
}  // namespace simmesh
