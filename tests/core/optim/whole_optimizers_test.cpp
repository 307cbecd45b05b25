#include <gtest/gtest.h>
#include <memory>

#include "core/autograd/variable.h"
#include "core/optim/adafactor.h"
#include "core/optim/lamb.h"
#include "core/optim/muon.h"
#include "core/optim/newton_schulz.h"
#include "core/optim/whole_shapes.h"
#include "tests/expect_error.h"

namespace simmesh::optim {
namespace {

using simmesh::testing::expect_error;
using Elements = std::vector<double>;

Tensor of_elements(DimSpan shape, DType dtype, const std::function<double(int)>& element) {
  Tensor tensor = empty(shape, dtype);
  for (int i = 0; i < int(tensor.numel()); ++i)
    if (dtype == DType::float64)
      tensor.mutable_values<double>()[i] = element(i);
    else
      tensor.mutable_values<float>()[i] = float(element(i));
  return tensor;
}

// Elements go up by quarters from -1.
Tensor rising_parameter(DimSpan shape, DType dtype = DType::float64) {
  Tensor parameter = of_elements(shape, dtype, [](int i) { return i / 4.0 - 1.0; });
  set_requires_grad(parameter);
  return parameter;
}

Tensor gradient_of_step(DimSpan shape, int t, DType dtype = DType::float64) {
  return of_elements(shape, dtype, [t](int i) { return i * 3 * t % 7 / 8.0 - 0.25 * t; });
}

Elements elements_of(const Tensor& tensor) {
  Elements elements;
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    elements.push_back(tensor.dtype() == DType::float64 ? tensor.values<double>()[i]
                                                        : double(tensor.values<float>()[i]));
  return elements;
}

void step_by(Optimizer& optimizer, Tensor& parameter, int steps) {
  for (int t = 1; t <= steps; ++t) {
    set_grad(parameter, gradient_of_step(parameter.shape(), t, parameter.dtype()));
    optimizer.step();
  }
}

// A few dozen roundings of values below 4, which a step of Newton and Schulz enlarges by less than
// 2, five times a step.
constexpr double bound_of_whole = 64 * 4 * 32 * 0x1p-53;

void expect_near_elements(const Tensor& tensor, const Elements& recorded) {
  Elements got = elements_of(tensor);
  ASSERT_EQ(got.size(), recorded.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], recorded[i], bound_of_whole);
}

// The values are PyTorch 2.15's. If this fails, a factor is that of another dim, or a bound is
// lost.
TEST(WholeOptimizers, AdafactorIsPyTorchs) {
  Tensor matrix = rising_parameter(Shape{2, 3}), vector = rising_parameter(Shape{4}),
         batch = rising_parameter(Shape{2, 2, 2});
  Adafactor of_matrix({matrix}, {.lr = 0.1});
  step_by(of_matrix, matrix, 3);
  expect_near_elements(matrix, {-0.7813332274551961, -0.7741693905313911, -0.5555679735392264,
                                -0.25, 0.028906895566024323, 0.41219174465202973});
  expect_near_elements(of_matrix.state(0).at("row_var"),
                       {0.18507045640024847, 0.09524258262336423});
  expect_near_elements(of_matrix.state(0).at("col_var"),
                       {0.16654725513284283, 0.16557251085512087, 0.0883497925474553});
  EXPECT_EQ(of_matrix.state_names(0), (std::vector<std::string>{"col_var", "row_var"}));
  Adafactor of_vector({vector}, {.lr = 0.1, .weight_decay = 0.25, .maximize = true});
  step_by(of_vector, vector, 3);
  expect_near_elements(vector, {-1.1528066944445106, -0.6399926101435042, -0.42639260295831555,
                                -0.23171484374999998});
  EXPECT_EQ(of_vector.state_names(0), std::vector<std::string>{"variance"});
  Adafactor of_batch({batch},
                     {.lr = 0.5, .beta2_decay = -0.5, .eps1 = 0.25, .eps2 = 0.5, .d = 2.0});
  step_by(of_batch, batch, 3);
  expect_near_elements(
      batch, {0.6326243778200824, -0.4833783127856428, -0.7305978091170878, -0.25,
              0.6292839804132447, 1.1619514263300081, 0.8852211077723583, 2.396042095188329});
}

// The values follow from the formula of DeepSpeed's kernel, in doubles.
TEST(WholeOptimizers, LambIsDeepSpeeds) {
  auto after_three = [](const LambOptions& options) {
    Tensor p = tensor_of<double>({3}, {2.0, -1.0, 0.5});
    set_requires_grad(p);
    Lamb lamb({p}, options);
    for (int t = 1; t <= 3; ++t) {
      set_grad(p, tensor_of<double>({3}, {0.5, -0.25 * t, 0.125 - 0.125 * t}));
      lamb.step();
    }
    return p;
  };
  expect_near_elements(
      after_three({.lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.125, .weight_decay = 0.25}),
      {1.5465807672435306, -0.6596796865940535, 0.5472408546874338});
  expect_near_elements(after_three({.lr = 0.1,
                                    .bias_correction = false,
                                    .beta1 = 0.5,
                                    .beta2 = 0.75,
                                    .eps = 0.125,
                                    .eps_inside_sqrt = true}),
                       {1.5301425999782035, -0.615093550221345, 0.592766641894724});
  expect_near_elements(after_three({.max_coeff = 0.5}),
                       {1.9988713966325808, -0.9988953423440303, 0.5004919732522033});
  expect_near_elements(after_three({.lr = 0.125, .min_coeff = 4.0}),
                       {0.5000007225556347, 0.46159055751702305, 1.2863533160940914});
}

// If this fails, a parameter of zeros never moves, or moves by the least ratio.
TEST(WholeOptimizers, LambTakesTheRatioOneWhereANormIsZero) {
  Tensor p = tensor_of<double>({3}, {0, 0, 0});
  set_requires_grad(p);
  set_grad(p, tensor_of<double>({3}, {0.5, -0.25, 0.0}));
  Lamb lamb({p}, {.lr = 0.5});
  lamb.step();
  expect_near_elements(p, {-0.4999996837724339, 0.49999936754526797, 0.0});
}

Tensor stepped_by_muon(DimSpan shape, MuonOptions options, DType dtype = DType::float64) {
  Tensor parameter = rising_parameter(shape, dtype);
  options.ns_dtype = dtype == DType::float64 ? std::optional(dtype) : std::nullopt;
  Muon muon({parameter}, options);
  step_by(muon, parameter, 2);
  return parameter;
}

// The values are those of DeepSpeed 0.19.8, whose iteration was made to compute in float64.
TEST(WholeOptimizers, MuonIsDeepSpeeds) {
  MuonOptions options{.lr = 0.5, .beta = 0.75, .weight_decay = 0.25};
  for (NewtonSchulz method : {NewtonSchulz::gram, NewtonSchulz::standard}) {
    options.ns_method = method;
    Elements wide = {-0.21549349896159153,  -0.8445247889201148, -0.893011905501351,
                     -0.021495100798671257, -0.3606764822981391, 0.8015345873227719};
    expect_near_elements(stepped_by_muon(Shape{2, 3}, options), wide);
    expect_near_elements(stepped_by_muon(Shape{3, 2}, options),
                         {-0.30446115508754906, -1.0679056014240746, -0.9830669021514818,
                          -0.6431362852074768, 0.007814300560620019, 0.9883366267283523});
    expect_near_elements(
        stepped_by_muon(Shape{2, 2}, options),
        {-0.42292505646539724, -1.2160008364190515, -0.9884903554830742, -0.7241801753746895});
    wide.insert(wide.end(), {0.35146367851975213, 1.3618537696732935, 0.6273235580816293,
                             0.19890867827675773, 1.1595396884628557, 1.0357246224078156});
    expect_near_elements(stepped_by_muon(Shape{2, 2, 3}, options), wide);
  }
}

// The products are rounded to 16 bits, which changes the fourth digit. The values are DeepSpeed's
// on a CPU, but that a sum with a diagonal is rounded once, as on a GPU. Its step is a fused
// multiply-add, so each of two steps may differ by half a unit in the last place of float32. If
// this fails, a method computes in another dtype.
TEST(WholeOptimizers, MuonRoundsAsItsMethodDoes) {
  auto expect_close = [](const Tensor& tensor, const Elements& recorded) {
    Elements got = elements_of(tensor);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], recorded[i], 2 * 0x1p-25) << i;
  };
  MuonOptions gram, standard{.ns_method = NewtonSchulz::standard};
  expect_close(stepped_by_muon(Shape{2, 3}, gram, DType::float32),
               {-0.9773388504981995, -0.7616967558860779, -0.5238891839981079, -0.24367256462574005,
                -0.019902342930436134, 0.2743310332298279});
  expect_close(stepped_by_muon(Shape{2, 3}, standard, DType::float32),
               {-0.9781250357627869, -0.76171875, -0.5234375, -0.2435937523841858,
                -0.020234374329447746, 0.2739843726158142});
  expect_close(stepped_by_muon(Shape{3, 2}, gram, DType::float32),
               {-0.9812939763069153, -0.7718554735183716, -0.5278515815734863, -0.2713574171066284,
                -0.002465820638462901, 0.28291991353034973});
  expect_close(stepped_by_muon(Shape{3, 2}, standard, DType::float32),
               {-0.9816601872444153, -0.7716015577316284, -0.5277343392372131, -0.2711718678474426,
                -0.0037890621460974216, 0.2814062535762787});
}

// A filter counts as the matrix of its first dim, so its update is that matrix's.
TEST(WholeOptimizers, MuonFlattensFilters) {
  MuonOptions options{.lr = 0.5, .beta = 0.75};
  Tensor filter = stepped_by_muon(Shape{2, 3, 1, 1}, options);
  EXPECT_EQ(filter.shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(elements_of(filter), elements_of(stepped_by_muon(Shape{2, 3}, options)));
}

// If this fails, one overflow stays in the momentum for ever, or groups of Adam are orthogonalised.
TEST(WholeOptimizers, MuonKeepsOverflowsOutAndStepsOthersByAdam) {
  Tensor matrix = rising_parameter(Shape{2, 2});
  Tensor vector = tensor_of<double>({3}, {2.0, -1.0, 0.5});
  set_requires_grad(vector);
  MuonOptions by_adam{.lr = 0.1,
                      .weight_decay = 0.25,
                      .adam = AdamOptions{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-10}};
  Muon muon(std::vector<Muon::Group>{{{matrix}, {}}, {{vector}, by_adam}});
  EXPECT_TRUE(muon.needs_whole(0));
  EXPECT_FALSE(muon.needs_whole(1));
  for (int t = 1; t <= 3; ++t) {
    set_grad(vector, tensor_of<double>({3}, {0.5, -0.25 * t, 0.125 - 0.125 * t}));
    muon.step();
  }
  expect_near_elements(vector, {1.561156250058512, -0.6439422677754557, 0.6163224925029309});
  Tensor overflow = tensor_of<double>({2, 2}, {1.0, INFINITY, 0.0, 1.0});
  set_grad(matrix, overflow);
  set_grad(vector, Tensor());
  muon.step();
  EXPECT_EQ(elements_of(muon.state(0).at("momentum_buffer")), Elements(4, 0.0));
  EXPECT_EQ(elements_of(matrix)[1], -INFINITY);
  expect_error(
      [&] {
        Muon refused({vector});
        set_grad(vector, tensor_of<double>({3}, {1, 1, 1}));
        refused.step();
      },
      ErrorKind::value_error, "at least 2 dims, got [3]");
}

// A flat piece is stepped by whole tensors. If this fails, the piece itself changes, or its state
// isn't that of the whole parameter.
TEST(WholeOptimizers, StepWholeTakesThePlaceOfThePiece) {
  Tensor whole = rising_parameter(Shape{2, 3}), expected = rising_parameter(Shape{2, 3});
  Tensor piece = tensor_of<double>({2}, {-1.0, -0.75});
  Adafactor direct({expected}), of_piece({piece});
  static_cast<WholeShapes&>(of_piece).set_whole_shapes({Shape{2, 3}});
  EXPECT_EQ(of_piece.new_state(0, "row_var").shape(), (Shape{2, 1}));
  Optimizer::WholeTensors tensors{whole, {}, {}};
  for (int t = 1; t <= 2; ++t) {
    tensors.gradient = gradient_of_step(Shape{2, 3}, t);
    of_piece.step_whole(0, tensors);
  }
  step_by(direct, expected, 2);
  EXPECT_EQ(elements_of(whole), elements_of(expected));
  EXPECT_EQ(of_piece.steps(0), 2);
  EXPECT_TRUE(of_piece.state(0).empty());
  EXPECT_EQ(elements_of(tensors.state.at("col_var")), elements_of(direct.state(0).at("col_var")));
  EXPECT_EQ(elements_of(piece), (Elements{-1.0, -0.75}));
}

}  // namespace
}  // namespace simmesh::optim
