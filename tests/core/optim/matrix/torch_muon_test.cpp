#include "core/optim/matrix/torch_muon.h"

#include <cmath>
#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/convert.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

using simmesh::testing::expect_error;

std::vector<double> matrix_elements(const Tensor& tensor) {
  Tensor wide = converted(tensor.contiguous(), DType::float64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

Tensor parameter_of(const Shape& shape, double gradient) {
  Tensor parameter = full(shape, DType::float32, 0.5);
  set_requires_grad(parameter);
  set_grad(parameter, full(shape, DType::float32, gradient));
  return parameter;
}

// If this fails, momentum is a sum instead of a mean, or weight decay comes after the step. With
// one element the direction is the sign after an odd polynomial; with no steps it is exactly 1.
TEST(TorchMuon, StepsByTheDirectionOfTheMeanGradient) {
  Tensor parameter = parameter_of({1, 1}, 8.0);
  TorchMuonOptions options{.lr = 0.25, .weight_decay = 0.5, .momentum = 0.75};
  options.iteration.steps = 0;
  TorchMuon muon({parameter}, options);
  muon.step();
  EXPECT_EQ(parameter.values<float>()[0], 0.5F * 0.875F - 0.25F);
  EXPECT_EQ(muon.state(0).at("momentum_buffer").values<float>()[0], 2.0F);
  set_grad(parameter, Tensor());
  muon.step();
  EXPECT_EQ(parameter.values<float>()[0], 0.5F * 0.875F - 0.25F);
  EXPECT_EQ(muon.state_names(0), std::vector<std::string>{"momentum_buffer"});
  EXPECT_TRUE(muon.needs_whole(0));
}

// If this fails, a learning rate is scaled by another shape's ratio.
TEST(TorchMuon, ScalesTheRateByTheShape) {
  auto change_of = [](const Shape& shape, MuonRate rate) {
    Tensor parameter = parameter_of(shape, 1.0);
    TorchMuonOptions options{.lr = 1.0, .weight_decay = 0.0, .adjust_lr = rate};
    options.iteration.steps = 0;
    TorchMuon muon({parameter}, options);
    muon.step();
    return 0.5F - parameter.values<float>()[0];
  };
  // All elements of the direction are 1 / 2 for four elements, and 1 / 4 for sixteen.
  EXPECT_EQ(change_of({4, 1}, MuonRate::original), 1.0F);
  EXPECT_EQ(change_of({1, 4}, MuonRate::original), 0.5F);
  EXPECT_EQ(change_of({1, 4}, muon_rate_from_string("spectral_unclamped")), 0.25F);
  EXPECT_EQ(change_of({1, 16}, muon_rate_from_string("match_rms_adamw")),
            0.5F - (0.5F - float(0.8) * 0.25F));
  expect_error([] { muon_rate_from_string("rms"); }, ErrorKind::value_error, "is not supported");
}

TEST(TorchMuon, RefusesWhatPyTorchRefuses) {
  auto refused = [](const TorchMuonOptions& options, const char* phrase) {
    expect_error(
        [&] {
          TorchMuon({parameter_of({2, 2}, 1.0)}, options);
        },
        ErrorKind::value_error, phrase);
  };
  refused({.lr = -1.0}, "Learning rate should be >= 0");
  refused({.momentum = -1.0}, "momentum should be >= 0");
  refused({.weight_decay = -1.0}, "weight decay should be >= 0");
  expect_error([] { TorchMuon({parameter_of({3}, 1.0)}); }, ErrorKind::value_error,
               "only supports 2D parameters");
  TorchMuon later({parameter_of({2, 2}, 1.0)});
  later.add_param_group({{parameter_of({2, 2, 2}, 1.0)}, {}});
  expect_error([&] { later.step(); }, ErrorKind::value_error, "must be a 2D matrix");
  TorchMuon foreach ({parameter_of({2, 2}, 1.0)}, {.foreach = true});
  expect_error(
      [&] {
        foreach
          .step();
      },
      ErrorKind::runtime_error, "Foreach is not supported");
  TorchMuon hollow({parameter_of({3, 0}, 1.0)});
  expect_error([&] { hollow.step(); }, ErrorKind::zero_division_error, "division by zero");
  expect_error([] { require_muon_input({.is_complex = true}); }, ErrorKind::runtime_error,
               "complex");
  expect_error([] { require_muon_input({.is_sparse = true}); }, ErrorKind::runtime_error, "sparse");
  EXPECT_EQ(muon_lr(full({1}, DType::float64, 0.25)), 0.25);
  expect_error([] { muon_lr(full({2}, DType::float64, 0.25)); }, ErrorKind::value_error,
               "1-element");
}

// If this fails, a buffer isn't updated in place, or nesterov looks at the old mean.
TEST(TorchMuon, LooksAheadWithNesterov) {
  Tensor buffer = zeros({1, 2}, DType::float32), gradient = full(Shape{1, 2}, DType::float32, 4.0);
  TorchMuonOptions options{.momentum = 0.5};
  options.iteration.steps = 0;
  Tensor ahead = muon_direction(buffer, gradient, options);
  EXPECT_EQ(buffer.values<float>()[0], 2.0F);
  EXPECT_EQ(matrix_elements(ahead)[0], matrix_elements(ahead)[1]);
  buffer.mutable_values<float>()[1] = -2.0F;
  options.nesterov = false;
  Tensor mean = muon_direction(buffer, gradient, options);  // of (3, 1)
  options.nesterov = true;
  buffer.mutable_values<float>()[0] = 2.0F;
  buffer.mutable_values<float>()[1] = -2.0F;
  Tensor further = muon_direction(buffer, gradient, options);  // of (3.5, 2.5)
  EXPECT_LT(matrix_elements(mean)[1], matrix_elements(further)[1]);
}

}  // namespace
}  // namespace simmesh::optim
