#include "pipeline/stage/tensor_meta.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::pipeline {
namespace {

using simmesh::testing::expect_error;

// If this fails, a stage takes tensors that another one doesn't send.
TEST(TensorMeta, ComparesShapesDtypesAndNumbers) {
  TensorMeta plain{Shape{2}, DType::float32, true};
  check_metas("x", {plain}, {plain});
  expect_error([&] { check_metas("x", {plain}, {}); }, ErrorKind::runtime_error, "expected 1");
  expect_error(
      [&] {
        check_metas("x", {plain}, {{Shape{3}, DType::float32}});
      },
      ErrorKind::runtime_error, "shape mismatch");
  expect_error(
      [&] {
        check_metas("x", {plain}, {{Shape{2}, DType::float64}});
      },
      ErrorKind::runtime_error, "dtype mismatch");
  EXPECT_EQ(grad_metas_of({plain, {Shape{2}, DType::int64}}),
            (GradMetas{TensorMeta{Shape{2}, DType::float32, false}, std::nullopt}));
  check_grad_metas("x", {std::nullopt, plain}, {plain, std::nullopt});
  expect_error(
      [&] {
        check_grad_metas("x", {plain}, {TensorMeta{Shape{3}, DType::float32}});
      },
      ErrorKind::runtime_error, "shape mismatch");
  expect_error([] { tensors_of({Tensor()}); }, ErrorKind::runtime_error, "None");
  expect_error([] { tensors_of({StepValue(std::int64_t(3))}); }, ErrorKind::runtime_error,
               "type int");
}

}  // namespace
}  // namespace simmesh::pipeline
