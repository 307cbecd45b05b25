#include "core/autograd/split_backward.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/checkpoint.h"
#include "core/autograd/function.h"
#include "core/autograd/pass_scope.h"
#include "core/autograd/root_gradient.h"
#include "core/autograd/traversal.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

Tensor leaf_of(std::uint64_t seed, bool requires_grad = true) {
  Tensor leaf = formula({3, 3}, {.rule = Rule::unit, .seed = seed, .dtype = DType::float32});
  set_requires_grad(leaf, requires_grad);
  return leaf;
}

// Leaves are an input and two weights, of which one is used twice and one by another weight alone.
struct Leaves {
  Tensor input, weight, scale;

  explicit Leaves(bool input_requires_grad = true)
      : input(leaf_of(1, input_requires_grad)), weight(leaf_of(2)), scale(leaf_of(3)) {}

  Tensor output() const {
    Tensor scaled = mul(weight, relu(scale));
    Tensor hidden = relu(matmul(input, scaled));
    return matmul(add(hidden, input), weight);
  }
};

const Tensor seed_gradient = formula({3, 3}, {.rule = Rule::unit, .seed = 9});

// If this fails, the two halves of a backward pass add up to another one than the whole.
TEST(SplitBackward, IsTheWholePassInTwoParts) {
  Leaves whole, split;
  backward(whole.output(), {.gradients = {seed_gradient}});
  Tensor output = split.output();
  SplitBackward pass(std::vector{root_of(output, seed_gradient)}, std::vector{split.input});
  output = Tensor();
  std::vector<Tensor> inputs = pass.run_inputs();
  EXPECT_TRUE(same_bits(inputs[0], grad_of(whole.input)));
  EXPECT_FALSE(grad_of(split.weight).is_defined());
  EXPECT_FALSE(grad_of(split.input).is_defined());
  pass.run_leaves();
  EXPECT_TRUE(same_bits(grad_of(split.weight), grad_of(whole.weight)));
  EXPECT_TRUE(same_bits(grad_of(split.scale), grad_of(whole.scale)));
  EXPECT_FALSE(grad_of(split.input).is_defined());
}

// If this fails, weights of a stage whose input requires no gradient get none.
TEST(SplitBackward, LeavesAllToTheSecondPartWithoutInputs) {
  Leaves whole(false), split(false);
  backward(whole.output(), {.gradients = {seed_gradient}});
  Tensor output = split.output();
  SplitBackward pass(std::vector{root_of(output, seed_gradient)}, std::vector{split.input});
  EXPECT_FALSE(pass.run_inputs()[0].is_defined());
  pass.run_leaves();
  EXPECT_TRUE(same_bits(grad_of(split.weight), grad_of(whole.weight)));
  EXPECT_TRUE(same_bits(grad_of(split.scale), grad_of(whole.scale)));
}

// If this fails, a function runs in both parts: its collectives would, too.
TEST(SplitBackward, RunsFunctionsOnce) {
  Leaves split;
  int runs = 0;
  Tensor hidden = mul(split.input.detach(), split.weight.detach());
  record_function("both", {split.input, split.weight}, {&hidden}, [&](const Gradients& gradients) {
    ++runs;
    return Gradients{gradients[0], add(gradients[0], gradients[0])};
  });
  SplitBackward pass(std::vector{root_of(hidden, seed_gradient)}, std::vector{split.input});
  EXPECT_TRUE(same_bits(pass.run_inputs()[0], seed_gradient));
  pass.run_leaves();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(same_bits(grad_of(split.weight), add(seed_gradient, seed_gradient)));
}

// If this fails, activations that are computed again are lost between the parts.
TEST(SplitBackward, ComputesCheckpointedActivationsAgain) {
  Leaves whole, split;
  backward(whole.output(), {.gradients = {seed_gradient}});
  auto function = [&](const std::vector<Tensor>& inputs) {
    Leaves own = split;
    own.input = inputs[0];
    return std::vector<Tensor>{own.output()};
  };
  Tensor output = checkpoint_activations(function, {split.input})[0];
  SplitBackward pass(std::vector{root_of(output, seed_gradient)}, std::vector{split.input});
  EXPECT_TRUE(same_bits(pass.run_inputs()[0], grad_of(whole.input)));
  pass.run_leaves();
  EXPECT_TRUE(same_bits(grad_of(split.weight), grad_of(whole.weight)));
}

// If this fails, a pass starts with a gradient of another shape than its tensor.
TEST(SplitBackward, RefusesRootsOfAnotherShape) {
  Leaves leaves;
  Tensor output = leaves.output();
  expect_error([&] { root_of(output); }, ErrorKind::runtime_error, "scalar outputs");
  expect_error([&] { root_of(output, zeros({2}, DType::float32)); }, ErrorKind::runtime_error,
               "shape");
  expect_error([&] { root_of(seed_gradient); }, ErrorKind::runtime_error, "require grad");
}

// If this fails, a pass starts with other gradients than ones, or doesn't say which tensor is
// wrong.
TEST(RootGradient, IsOnesForOneElement) {
  Tensor one = leaf_of(4);
  EXPECT_EQ(root_gradient(sum(one), {}, 0).values<float>()[0], 1);
  expect_error([&] { root_gradient(seed_gradient, {}, 5); }, ErrorKind::runtime_error, "element 5");
}

// If this fails, a callback of a pass is lost, or runs in another one.
TEST(PassScope, RunsItsCallbacks) {
  int calls = 0;
  EXPECT_FALSE(current_backward());
  {
    PassScope pass;
    std::optional<std::uint64_t> outer = current_backward();
    queue_callback([&] { queue_callback([&] { ++calls; }); });
    {
      PassScope inner;
      EXPECT_NE(current_backward(), outer);
      inner.run_callbacks();
    }
    EXPECT_EQ(calls, 0);
    pass.run_callbacks();
  }
  EXPECT_EQ(calls, 1);
  expect_error([] { queue_callback([] {}); }, ErrorKind::runtime_error, "during backward");
}

// If this fails, a pass that captures runs more than what leads to the captured places.
TEST(Traversal, OnlyRunsWhatLeadsToCapturedPlaces) {
  Leaves leaves;
  Traversal traversal({});
  Tensor output = leaves.output();
  traversal.add_root(root_of(output, seed_gradient));
  traversal.capture(leaves.input, false);
  traversal.run();
  EXPECT_TRUE(traversal.captured(0).is_defined());
  EXPECT_FALSE(grad_of(leaves.weight).is_defined());
}

// If this fails, backward_from computes another pass than backward.
TEST(SplitBackward, StartsFromPlacesWhoseTensorsAreGone) {
  Leaves whole, edges;
  backward(whole.output(), {.gradients = {seed_gradient}});
  std::vector<GradientRoot> roots = {root_of(edges.output(), seed_gradient)};
  backward_from(roots);
  EXPECT_TRUE(same_bits(grad_of(edges.weight), grad_of(whole.weight)));
  EXPECT_TRUE(same_bits(grad_of(edges.input), grad_of(whole.input)));
}

}  // namespace
}  // namespace simmesh
