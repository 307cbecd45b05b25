#include "core/autograd/autocast.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <utility>

#include "core/autograd/backward.h"
#include "core/autograd/checkpoint.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/formula.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using simmesh::testing::expect_error;

Tensor wide_values(DType dtype = DType::float32, std::uint64_t seed = 1) {
  return formula({4, 4}, {.rule = Rule::wide, .seed = seed, .dtype = dtype});
}

Tensor row_values() { return formula({4}, {.rule = Rule::wide, .seed = 4}); }

// If this fails, an op runs in another dtype than under torch.autocast on the CPU.
TEST(Autocast, ConvertsAsTheOpsPolicySays) {
  Tensor x = wide_values(), y = wide_values(DType::bfloat16);
  Autocast scope(DType::bfloat16);
  EXPECT_EQ(mm(x, x).dtype(), DType::bfloat16);
  EXPECT_EQ(linear(x, x, row_values()).dtype(), DType::bfloat16);
  EXPECT_EQ(matmul(x, row_values()).dtype(), DType::bfloat16);
  EXPECT_EQ(mse_loss(y, y, LossReduction::mean).dtype(), DType::float32);
  EXPECT_EQ(prod(y).dtype(), DType::float32);
  EXPECT_EQ(softmax(y, 0).dtype(), DType::bfloat16);
  EXPECT_EQ(add(x, y).dtype(), DType::float32);
  EXPECT_EQ(mm(wide_values(DType::float64), wide_values(DType::float64)).dtype(), DType::float64);
}

// If this fails, products aren't those of the rounded operands.
TEST(Autocast, RoundsOperandsOnce) {
  Tensor x = wide_values(), weight = wide_values(DType::float32, 2);
  Tensor expected = mm(to(x, DType::bfloat16), to(weight, DType::bfloat16));
  Autocast scope(DType::bfloat16);
  EXPECT_TRUE(same_bits(mm(x, weight), expected));
}

// PyTorch converts a weight once, so the gradients of its uses are added in the lower dtype.
TEST(Autocast, ConvertsAWeightOnce) {
  Tensor x = wide_values(), y = wide_values(DType::float32, 3);
  auto gradient = [&](bool once) {
    Tensor weight = wide_values(DType::float32, 2);
    set_requires_grad(weight);
    Tensor loss;
    {
      std::optional<Autocast> scope(DType::bfloat16);
      Tensor first = mm(x, weight);
      if (!once) scope.emplace(DType::bfloat16);
      loss = add(sum(first), sum(mm(y, weight)));
    }
    backward(loss);
    return grad_of(weight);
  };
  Tensor once = gradient(true), twice = gradient(false);
  EXPECT_EQ(once.dtype(), DType::float32);
  EXPECT_TRUE(same_bits(once, to(to(once, DType::bfloat16), DType::float32)));
  EXPECT_FALSE(same_bits(once, twice));
}

// PyTorch converts the last input first, so the gradient of the first one comes first. If this
// fails, gradients come in another order into the buckets of ZeRO.
TEST(Autocast, ConvertsTheLastInputFirst) {
  Tensor weight = wide_values(DType::float32, 2), bias = row_values();
  std::string came;
  for (auto [leaf, name] : {std::pair(&weight, "weight "), std::pair(&bias, "bias ")}) {
    set_requires_grad(*leaf);
    register_accumulate_hook(*leaf, [&came, name = name](Tensor&) { came += name; });
  }
  Tensor loss;
  {
    Autocast scope(DType::bfloat16);
    loss = sum(linear(wide_values(), weight, bias));
  }
  backward(loss);
  EXPECT_EQ(came, "weight bias ");
}

// If this fails, a recomputed part of forward runs in other dtypes than the first run.
TEST(Autocast, HoldsInCheckpoints) {
  Tensor weight = wide_values(DType::float32, 2);
  set_requires_grad(weight);
  for (bool reentrant : {false, true}) {
    Tensor x = wide_values();
    set_requires_grad(x);
    std::vector<DType> seen;
    Tensor loss;
    {
      Autocast scope(DType::bfloat16);
      auto outputs = checkpoint_activations(
          [&](const std::vector<Tensor>& inputs) {
            Tensor y = mm(inputs[0], weight);
            seen.push_back(y.dtype());
            return std::vector<Tensor>{mul(y, y)};
          },
          {x}, {.reentrant = reentrant, .early_stop = false});
      loss = sum(outputs[0]);
    }
    backward(loss);
    EXPECT_EQ(seen, (std::vector<DType>{DType::bfloat16, DType::bfloat16}));
  }
}

TEST(Autocast, RefusesOtherDtypes) {
  expect_error([] { Autocast scope(DType::float32); }, ErrorKind::value_error,
               "expected bfloat16 or float16, got float32");
}

}  // namespace
}  // namespace simmesh
