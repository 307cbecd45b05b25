#include "pipeline/runtime/step_inputs.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

Tensor batch(std::int64_t rows) { return zeros({rows, 2}, DType::float32); }

// If this fails, micro-batches have other rows, or wrong calls aren't refused.
TEST(StepInputs, CutsTheBatchOrTakesItCut) {
  StepMicrobatches cut = cut_inputs({.args = {batch(5)}, .target = batch(4)}, {}, 2);
  EXPECT_EQ(std::get<Tensor>(cut.arguments[0].args[0]).size(0), 3);
  EXPECT_EQ(cut.targets[1].size(0), 2);
  EXPECT_EQ(cut_inputs({}, {}, 3).arguments.size(), 3u);
  StepInputs split{.arg_mbs = std::vector<std::vector<StepValue>>{{batch(1)}, {batch(2)}}};
  EXPECT_EQ(std::get<Tensor>(cut_inputs(split, {}, 2).arguments[1].args[0]).size(0), 2);
  expect_error([&] { cut_inputs(split, {}, 3); }, ErrorKind::value_error, "3 arg_mbs but got 2");
  split.target = batch(2);
  expect_error([&] { cut_inputs(split, {}, 2); }, ErrorKind::value_error, "target_mbs");
  split.kwargs = {{"x", 1.0}};
  expect_error([&] { cut_inputs(split, {}, 2); }, ErrorKind::value_error, "kwarg_mbs");
  split.args = {batch(2)};
  expect_error([&] { cut_inputs(split, {}, 2); }, ErrorKind::value_error, "arg_mbs");
  expect_error([] { cut_inputs({.args = {batch(2)}}, {}, 3); }, ErrorKind::value_error,
               "Expecting 3 arg_mbs but got 2");
  expect_error([] { cut_inputs({.target = batch(2)}, {}, 3); }, ErrorKind::assertion_error,
               "smaller than num_chunks");
  expect_error(
      [] {
        cut_inputs({.args = {batch(2)}}, {.args = std::vector<ChunkDim>{0, 0}}, 2);
      },
      ErrorKind::assertion_error, "keys");
  expect_error(
      [] {
        cut_inputs({.kwargs = {{"x", batch(2)}}}, {.kwargs = std::map<std::string, ChunkDim>{}}, 2);
      },
      ErrorKind::assertion_error, "keys");
}

}  // namespace
}  // namespace simmesh::pipeline
