#include "core/autograd/copy_slices.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor leaf_of(DimSpan shape, double value) {
  Tensor x = full(shape, DType::float64, value);
  set_requires_grad(x);
  return x;
}

std::vector<double> gradient_of_leaf(const Tensor& x) {
  Tensor rows = grad_of(x).contiguous();
  auto values = rows.values<double>();
  return {values.begin(), values.end()};
}

using Doubles = std::vector<double>;

// A view that was taken before its base was changed must have the changed base's gradient.
TEST(CopySlices, AViewFollowsItsBase) {
  Tensor x = leaf_of(Dims{2, 2}, 3), y = mul(x, 1);
  std::vector<Tensor> views = {y.view(Dims{4}), y.narrow({.dim = 0, .start = 1, .length = 1}),
                               y.transpose(0, 1), select(y.view(Dims{4}), 0, 3),
                               expand(y.unsqueeze(0), {3, 2, 2})};
  mul_(y, 2);
  for (const Tensor& view : views) backward(sum(view), {.retain_graph = true, .inputs = {x}});
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{10, 10, 12, 14}));
  EXPECT_EQ(Variable::of(views[0])->node()->name(), "as_strided");
}

// A base must see what was done to a part of it, and only there.
TEST(CopySlices, ABaseFollowsItsViews) {
  Tensor x = leaf_of(Dims{2, 2}, 3), y = mul(x, 1);
  Tensor column = select(y, 1, 1), corner = select(column, 0, 0);
  mul_(column, 2);
  mul_(corner, 5);
  EXPECT_EQ(Variable::of(y)->node()->name(), "CopySlices");
  backward(sum(y), {.retain_graph = true});
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{1, 10, 1, 2}));
  backward(sum(column));
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{1, 20, 1, 4}));
}

// A value that is written into a part gets the gradient of that part, and the part's old elements
// get none.
TEST(CopySlices, WrittenValuesGetTheirGradients) {
  Tensor x = leaf_of(Dims{2, 2}, 3), w = leaf_of(Dims{2}, 7), y = mul(x, 1);
  Tensor row = select(y, 0, 0);
  copy_from_(row, w);
  backward(sum(mul(y, 2)));
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{0, 0, 2, 2}));
  EXPECT_EQ(gradient_of_leaf(w), (Doubles{2, 2}));
}

// Gradients of gradients must pass through the change, too.
TEST(CopySlices, IsDifferentiable) {
  Tensor x = leaf_of(Dims{2}, 3), y = mul(x, 1);
  Tensor first = y.narrow({.dim = 0, .start = 0, .length = 1});
  mul_(first, x.narrow({.dim = 0, .start = 0, .length = 1}));
  Tensor g = grad({sum(mul(y, y))}, {x}, {.create_graph = true}).front();
  backward(sum(g));
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{12 * 9, 2}));
}

// A gradient that is kept belongs to the changed tensor, as in PyTorch.
TEST(CopySlices, RetainedGradientsAreThoseOfTheNewElements) {
  Tensor x = leaf_of(Dims{2}, 3), y = mul(x, 1), view = y.view(Dims{2, 1});
  retain_grad(y);
  mul_(view, 2);
  backward(sum(mul(y, 5)));
  EXPECT_EQ(gradient_of_leaf(y), (Doubles{5, 5}));
  EXPECT_EQ(gradient_of_leaf(x), (Doubles{10, 10}));
}

// An operand that the change overwrites is no longer there for the gradient.
TEST(CopySlices, RefusesAnOperandThatWasOverwritten) {
  Tensor x = leaf_of(Dims{2}, 3);
  for (bool by_view : {false, true}) {
    Tensor y = mul(x, 1);
    mul_(y, by_view ? y.view(Dims{2}) : y);
    testing::expect_error([&] { backward(sum(y)); }, ErrorKind::runtime_error,
                          "has been modified by an inplace operation");
  }
}

// Views that PyTorch refuses to change or to follow, with its reasons.
TEST(CopySlices, RefusesSomeViews) {
  Tensor x = leaf_of(Dims{2, 2}, 3), y = mul(x, 1), leaf_row = select(x, 0, 0);
  testing::expect_error([&] { mul_(leaf_row, 2); }, ErrorKind::runtime_error,
                        "a view of a leaf Variable that requires grad");
  Tensor one = unbind(y).front();
  testing::expect_error([&] { mul_(one, 2); }, ErrorKind::runtime_error,
                        "Output 0 of unbind is a view and is being modified inplace. This view is "
                        "the output of a function that returns multiple views");
  Tensor unrecorded;
  {
    NoGrad scope;
    unrecorded = y.view(Dims{4});
  }
  testing::expect_error([&] { mul_(unrecorded, 2); }, ErrorKind::runtime_error,
                        "A view was created in no_grad mode and is being modified");
  mul_(y, 2);
  testing::expect_error([&] { mul(one, 2); }, ErrorKind::runtime_error,
                        "its base or another view of its base has been modified inplace");
  testing::expect_error([&] { mul(unrecorded, 2); }, ErrorKind::runtime_error,
                        "its base or another view of its base has been modified inplace");
}

}  // namespace
}  // namespace simmesh
