#include "core/autograd/backward.h"

#include <gtest/gtest.h>
#include <string>

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

Tensor row_leaf(std::initializer_list<double> values) {
  Tensor x = tensor_of<double>({std::int64_t(values.size())}, values);
  set_requires_grad(x);
  return x;
}

std::vector<double> values_of(const Tensor& tensor) {
  Tensor rows = tensor.contiguous();
  auto values = rows.values<double>();
  return {values.begin(), values.end()};
}

using Values = std::vector<double>;

TEST(Backward, AddsWhatReachesALeafByAllPaths) {
  Tensor x = row_leaf({1, 2, 3});
  backward(sum(add(mul(x, x), x)));
  EXPECT_EQ(values_of(grad_of(x)), (Values{3, 5, 7}));
}

TEST(Backward, AccumulatesOverPasses) {
  Tensor x = row_leaf({2});
  backward(mul(x, 3.0));
  backward(mul(x, 4.0));
  EXPECT_EQ(values_of(grad_of(x)), (Values{7}));
}

TEST(Backward, RefusesASecondPassOverAFreedGraph) {
  Tensor x = row_leaf({2});
  Tensor y = mul(x, x);
  backward(y, {.retain_graph = true});
  backward(y);
  EXPECT_THROW(backward(y), Error);
  EXPECT_EQ(values_of(grad_of(x)), (Values{8}));
}

TEST(Backward, RefusesTensorsThatRequireNoGradientAndGradientsOfOtherShapes) {
  Tensor x = row_leaf({1, 2});
  EXPECT_THROW(backward(zeros({1}, DType::float64)), Error);
  EXPECT_THROW(backward(mul(x, x)), Error);  // two elements, no gradient given
  EXPECT_THROW(backward(mul(x, x), {.gradients = {zeros({3}, DType::float64)}}), Error);
}

// Ready nodes run latest-made first: the order of events that FSDP relies on.
TEST(Backward, RunsTheNodesMadeLastFirstAndLeavesBeforeAll) {
  std::string order;
  auto traced = [&order](const Tensor& in, char name) {
    Tensor out = in.detach().clone();
    record_function(std::string(1, name), {in}, {&out}, [&order, name](const auto& gradients) {
      order += name;
      return gradients;
    });
    return out;
  };
  Tensor x = row_leaf({1}), w = row_leaf({1});
  register_accumulate_hook(w, [&order](Tensor&) { order += 'w'; });
  register_accumulate_hook(x, [&order](Tensor&) { order += 'x'; });
  Tensor a = traced(x, 'a'), b = traced(x, 'b');
  Tensor v = traced(w, 'v');
  backward(sum(add(add(a, b), v)));
  EXPECT_EQ(order, "vwbax");
}

TEST(Backward, OfSomeInputsLeavesTheOthersAlone) {
  Tensor x = row_leaf({3}), y = row_leaf({5});
  backward(mul(x, y), {.inputs = {x}});
  EXPECT_EQ(values_of(grad_of(x)), (Values{5}));
  EXPECT_FALSE(grad_of(y).is_defined());
}

TEST(Backward, OfAnUnusedInputIsAnErrorUnlessAllowed) {
  Tensor x = row_leaf({3}), y = row_leaf({5});
  EXPECT_THROW(grad({mul(x, x)}, {y}), Error);
  std::vector<Tensor> gradients = grad({mul(x, x)}, {y, x}, {.allow_unused = true});
  EXPECT_FALSE(gradients[0].is_defined());
  EXPECT_EQ(values_of(gradients[1]), (Values{6}));
  EXPECT_FALSE(grad_of(x).is_defined());
}

TEST(Backward, OfGradientsGivesSecondDerivatives) {
  Tensor x = row_leaf({2, 3});
  Tensor first = grad({sum(mul(mul(x, x), x))}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(values_of(first), (Values{12, 27}));
  EXPECT_EQ(values_of(grad({sum(first)}, {x})[0]), (Values{12, 18}));
}

TEST(Backward, CallsQueuedCallbacksAtTheEndOfTheInnermostPass) {
  std::string order;
  Tensor x = row_leaf({1});
  Tensor y = x.detach().clone();
  record_function("nested", {x}, {&y}, [&](const auto& gradients) {
    queue_callback([&order] { order += "outer "; });
    GradMode mode(true);
    Tensor z = row_leaf({1});
    register_hook(z, [&order](const Tensor&) {
      queue_callback([&order] { order += "inner "; });
      return Tensor();
    });
    backward(mul(z, 2.0));
    order += "node ";
    return gradients;
  });
  backward(y);
  EXPECT_EQ(order, "inner node outer ");
  EXPECT_THROW(queue_callback([] {}), Error);
  EXPECT_FALSE(current_backward());
}

TEST(Backward, RecordsNothingWithoutGradMode) {
  Tensor x = row_leaf({1});
  NoGrad mode;
  EXPECT_FALSE(mul(x, x).requires_grad());
}

TEST(Backward, NoticesWhatWasChangedInPlaceSinceItWasSaved) {
  Tensor x = row_leaf({2});
  Tensor y = mul(x, 1.0), z = mul(y, y);
  {
    NoGrad mode;
    Tensor plain = y.detach();
    add_(plain, 1.0);
  }
  EXPECT_THROW(backward(z), Error);
}

TEST(Backward, GoesThroughOperationsInPlace) {
  Tensor x = row_leaf({2, 3});
  Tensor y = mul(x, 2.0);
  mul_(y, x);
  EXPECT_THROW(add_(x, 1.0), Error);  // a leaf
  backward(sum(y));
  EXPECT_EQ(values_of(grad_of(x)), (Values{8, 12}));
}

// A chain much longer than a rank's stack could hold by recursion.
TEST(Backward, RunsAndFreesLongChains) {
  Tensor x = row_leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = mul(y, 1.0);
  backward(y, {.retain_graph = true});
  EXPECT_EQ(values_of(grad_of(x)), (Values{1}));
}

// In exact arithmetic the gradient of a leaf is one sum, however the batch is cut.
TEST(Backward, InExactArithmeticDoesNotDependOnHowTheBatchIsCut) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  Tensor data = formula({12, 7}, {.seed = 1}), target = formula({12, 5}, {.seed = 2});
  auto gradient = [&](std::int64_t parts) {
    Tensor w = formula({5, 7}, {.seed = 3}), b = formula({5}, {.seed = 4});
    set_requires_grad(w);
    set_requires_grad(b);
    for (std::int64_t at = 0; at < 12; at += 12 / parts) {
      Tensor::Narrow part{0, at, 12 / parts};
      Tensor y = linear(data.narrow(part), w, b);
      backward(sum(mul(y, target.narrow(part))));
    }
    return std::pair(grad_of(w), grad_of(b));
  };
  auto whole = gradient(1);
  for (std::int64_t parts : {2, 3, 4, 6, 12}) {
    auto cut = gradient(parts);
    EXPECT_TRUE(same_bits(whole.first, cut.first)) << parts;
    EXPECT_TRUE(same_bits(whole.second, cut.second)) << parts;
  }
}

// If this fails, a gradient is computed from elements that forward never saw, and nobody says so.
TEST(Backward, EveryWayToChangeASavedTensorIsRefused) {
  std::vector<std::function<void(Tensor&)>> changes = {
      [](Tensor& x) { copy_(x, full({2}, DType::float32, 5)); },
      [](Tensor& x) { adopt_(x, full({2}, DType::float32, 5)); },
      [](Tensor& x) { x.mutable_values<float>()[1] = 5; },
      [](Tensor& x) { x.mutable_data(); },
      [](Tensor& x) {
        NoGrad scope;
        mul_(x, full({2}, DType::float32, 5));
      },
  };
  for (const auto& change : changes) {
    Tensor x = full({2}, DType::float32, 4);
    set_requires_grad(x);
    Tensor saved = mul(x, 1.0);
    Tensor loss = sum(mul(saved, saved));
    Tensor view = saved.detach();
    change(view);
    testing::expect_error([&] { backward(loss); }, ErrorKind::runtime_error,
                          "modified by an inplace operation: float32[2], saved by mul, is "
                          "at version 1; expected version 0");
  }
}

// The gradient of a sum repeats one element, whose values a program reads like any others.
TEST(Backward, GradientsHaveElementsOfTheirOwn) {
  Tensor x = full({2, 3}, DType::float32, 4);
  set_requires_grad(x);
  EXPECT_EQ(grad({sum(x)}, {x}).front().values<float>()[5], 1);
  backward(sum(expand(x, {2, 2, 3})));
  EXPECT_EQ(grad_of(x).values<float>()[5], 2);
  backward(sum(x));
  EXPECT_EQ(grad_of(x).values<float>()[0], 3);
}

}  // namespace
}  // namespace simmesh
