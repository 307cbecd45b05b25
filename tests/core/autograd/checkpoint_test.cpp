#include "core/autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/saved_tensor.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/default_generator.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

using Tensors = std::vector<Tensor>;

Tensor seeded_leaf(std::uint64_t seed) {
  Tensor x = formula({4, 4}, {.seed = seed});
  set_requires_grad(x);
  return x;
}

struct LeafGradients {
  Tensor x, w;
};

// The gradients of a part that runs plainly or checkpointed, and how often it ran.
LeafGradients run(const std::optional<CheckpointOptions>& options, int& runs, bool with_dropout) {
  manual_seed(7);
  Tensor x = seeded_leaf(1), w = seeded_leaf(2);
  auto part = [&](const Tensors& in) -> Tensors {
    ++runs;
    Tensor hidden = tanh(mm(in[0], in[1]));
    if (with_dropout) hidden = dropout(hidden, default_generator().next());
    return {mul(hidden, hidden)};
  };
  Tensors inputs{x, w};
  Tensor y = options ? checkpoint_activations(part, inputs, *options)[0] : part(inputs)[0];
  default_generator().next();  // what comes after draws other numbers
  backward(sum(y));
  return {grad_of(x), grad_of(w)};
}

TEST(Checkpoint, GivesTheBitsOfAPlainRunAndRunsTwice) {
  for (bool with_dropout : {false, true}) {
    int plain_runs = 0;
    LeafGradients plain = run(std::nullopt, plain_runs, with_dropout);
    for (bool reentrant : {false, true}) {
      for (bool early_stop : {false, true}) {
        int runs = 0;
        LeafGradients again = run(CheckpointOptions{reentrant, early_stop}, runs, with_dropout);
        EXPECT_EQ(runs, 2);
        EXPECT_TRUE(same_bits(plain.x, again.x)) << reentrant << early_stop << with_dropout;
        EXPECT_TRUE(same_bits(plain.w, again.w)) << reentrant << early_stop << with_dropout;
      }
    }
  }
}

TEST(Checkpoint, KeepsNothingOfWhatThePartSaves) {
  Tensor x = seeded_leaf(1);
  long saved_uses = 0;
  Tensor y = checkpoint_activations(
      [&](const Tensors& in) -> Tensors {
        Tensor hidden = tanh(in[0]);
        Tensor result = mul(hidden, hidden);
        saved_uses = long(hidden.storage()->use_count());
        return {result};
      },
      {x})[0];
  EXPECT_EQ(saved_uses, 1);
}

// With early stop, what follows the last saved tensor isn't run again.
TEST(Checkpoint, StopsEarly) {
  for (bool early_stop : {true, false}) {
    Tensor x = seeded_leaf(1);
    int ends = 0;
    Tensor y = checkpoint_activations(
        [&](const Tensors& in) -> Tensors {
          Tensor result = tanh(in[0]);
          ++ends;
          return {result};
        },
        {x}, {.early_stop = early_stop})[0];
    backward(sum(y));
    EXPECT_EQ(ends, early_stop ? 1 : 2);
  }
}

// A region within another doesn't keep its inputs: they come from the outer one's second run, which
// ends where the inner region begins.
TEST(Checkpoint, LeavesTheInputsOfAnInnerRegionToTheOuterOne) {
  Tensor x = seeded_leaf(1), plain = seeded_leaf(1);
  std::string runs;
  auto inner = [&](const Tensors& in) -> Tensors {
    runs += 'i';
    return {tanh(in[0])};
  };
  auto outer = [&](const Tensors& in) -> Tensors {
    runs += 'o';
    return checkpoint_activations(inner, {tanh(in[0])});
  };
  backward(sum(checkpoint_activations(outer, {x})[0]));
  EXPECT_EQ(runs, "oioi");
  backward(sum(tanh(tanh(plain))));
  EXPECT_TRUE(same_bits(grad_of(x), grad_of(plain)));
}

// A backward pass doesn't use what another one computed again and left.
TEST(Checkpoint, RunsAgainInEachBackwardPass) {
  Tensor x = seeded_leaf(1);
  int runs = 0;
  Tensors y = checkpoint_activations(
      [&](const Tensors& in) -> Tensors {
        ++runs;
        return {tanh(in[0]), tanh(in[0])};
      },
      {x});
  backward(sum(y[0]));
  backward(sum(y[1]));
  EXPECT_EQ(runs, 3);
}

TEST(Checkpoint, ReportsASecondRunThatSavesLess) {
  Tensor x = seeded_leaf(1);
  int runs = 0;
  Tensor y = checkpoint_activations(
      [&](const Tensors& in) -> Tensors {
        return {++runs == 1 ? tanh(tanh(in[0])) : mul(in[0], 1.0)};
      },
      {x})[0];
  EXPECT_THROW(backward(sum(y)), Error);
}

// A bias asks for none of the factors: where nothing else requires a gradient nothing is saved, and
// a checkpointed part doesn't run again.
TEST(Checkpoint, RunsOnceWhereOnlyABiasIsTrained) {
  Tensor bias = formula({4}, {.seed = 3});
  set_requires_grad(bias);
  Tensor x = formula({2, 4}, {.seed = 1}), weight = formula({4, 4}, {.seed = 2});
  int runs = 0;
  auto part = [&](const Tensors& in) -> Tensors {
    ++runs;
    return {linear(in[0], weight, bias)};
  };
  backward(sum(checkpoint_activations(part, {x}, {})[0]));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(same_bits(grad_of(bias), full({4}, DType::float32, 2.0)));
}

TEST(SavedTensorHooks, SeeWhatIsSavedAndGiveItBack) {
  Tensor x = seeded_leaf(1);
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    SavedTensorHooks scope([&](const Tensor& tensor) {
      ++packed;
      return [&unpacked, half = to(tensor, DType::float64)] {
        ++unpacked;
        return to(half, DType::float32);
      };
    });
    y = sum(mul(x, x));
  }
  backward(y);
  EXPECT_EQ(packed, 2);
  EXPECT_EQ(unpacked, 2);
  EXPECT_TRUE(same_bits(grad_of(x), mul(x.detach(), 2.0)));
}

}  // namespace
}  // namespace simmesh
