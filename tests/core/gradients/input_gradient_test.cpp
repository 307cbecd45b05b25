#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"

// In exact arithmetic a leaf's gradient stays unrounded: a batch gives the bits of its parts one
// after another, in any order. Rounding anywhere in between would show here.
namespace simmesh {
namespace {

struct BatchCase {
  std::string name;
  Shape weight;
  Shape batch;  // the inputs, cut along dim 0
  DType batch_dtype = DType::float32;
  std::function<Tensor(const Tensor& weight, const Tensor& batch)> function;
};

const std::vector<BatchCase> cases = {
    {"linear",
     {4, 5},
     {6, 3, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return linear(batch, weight); }},
    {"mm",
     {5, 4},
     {6, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return mm(batch, weight); }},
    {"the input of linear",
     {4, 5},
     {6, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return t(linear(weight, batch)); }},
    {"the left of mm",
     {4, 5},
     {6, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return t(mm(weight, t(batch))); }},
    {"the left of bmm",
     {2, 4, 5},
     {6, 2, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) {
       return permute(bmm(weight, permute(batch, {1, 2, 0})), {2, 0, 1});
     }},
    {"the right of bmm",
     {2, 5, 4},
     {6, 2, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) {
       return permute(bmm(permute(batch, {1, 0, 2}), weight), {1, 0, 2});
     }},
    {"the vector of mv",
     {5},
     {6, 5},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return mv(batch, weight); }},
    {"bias",
     {4},
     {6, 4},
     DType::float32,
     [](const Tensor& bias, const Tensor& batch) {
       return addmm(bias, batch, full({4, 4}, DType::float32, 0.5));
     }},
    {"conv2d",
     {2, 3, 2, 2},
     {6, 3, 4, 4},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) { return conv2d(batch, weight); }},
    {"conv2d of two groups",
     {4, 2, 2, 3},
     {6, 4, 4, 4},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) {
       return conv2d(batch, weight, {}, {.stride = {2, 1}, .padding = {1, 1}, .groups = 2});
     }},
    {"embedding",
     {3, 4},
     {6, 2},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) { return embedding(weight, batch, 1); }},
    {"index_select",
     {3, 4},
     {12},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) { return index_select(weight, 0, batch); }},
    {"index_select of the last dim",
     {4, 3},
     {12},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) { return t(index_select(weight, 1, batch)); }},
    {"gather",
     {4, 3},
     {6, 2},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) { return gather(weight, 0, batch); }},
    {"index",
     {4, 3},
     {6, 2},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) {
       return index(weight, {batch, full({}, DType::int64, 1)});
     }},
    {"index of the last dim",
     {2, 5, 3},
     {6, 2},
     DType::int64,
     [](const Tensor& weight, const Tensor& batch) {
       return permute(index(weight, {Tensor(), Tensor(), batch}), {2, 0, 1, 3});
     }},
    {"repeat",
     {3},
     {6, 3},
     DType::float32,
     [](const Tensor& weight, const Tensor& batch) {
       return mul(batch, repeat(weight, {batch.size(0), 1}));
     }},
};

Tensor batch_of(const BatchCase& one) {
  if (one.batch_dtype == DType::int64)
    return formula(one.batch, {.rule = Rule::index, .seed = 5, .below = 3, .dtype = DType::int64});
  return formula(one.batch, {.rule = Rule::unit, .seed = 5});
}

// The gradient after backward passes over parts of the batch.
Tensor gradient_of(const BatchCase& one, const std::vector<Tensor::Narrow>& parts) {
  Tensor weight = formula(one.weight, {.rule = Rule::unit, .seed = 6}), batch = batch_of(one);
  Tensor upstream = formula(one.function(weight, batch).shape(), {.rule = Rule::unit, .seed = 7});
  set_requires_grad(weight);
  for (const Tensor::Narrow& part : parts)
    backward(one.function(weight, narrow(batch, part)), {.gradients = {narrow(upstream, part)}});
  return grad_of(weight);
}

TEST(UnfinishedGradients, PartsOfABatchGiveTheBitsOfTheWhole) {
  Arithmetic exact = Arithmetic::exact();
  ArithmeticScope scope(exact);
  for (const BatchCase& one : cases) {
    std::int64_t size = one.batch[0];
    Tensor whole = gradient_of(one, {{0, 0, size}});
    EXPECT_EQ(whole.shape(), one.weight);
    EXPECT_TRUE(same_bits(whole, gradient_of(one, {{0, 0, 1}, {0, 1, size - 1}}))) << one.name;
    EXPECT_TRUE(same_bits(whole, gradient_of(one, {{0, 4, size - 4}, {0, 0, 4}}))) << one.name;
  }
}

// Rounded in between or not, a gradient is the same sum: here of few small integers, which no way
// rounds.
TEST(UnfinishedGradients, GoingOnUnroundedChangesNoExactSum) {
  auto integers = [](const Shape& shape, std::uint64_t seed) {
    return formula(shape, {.rule = Rule::small, .seed = seed});
  };
  auto gradient = [&](const BatchCase& one) {
    Tensor weight = integers(one.weight, 1);
    Tensor batch = one.batch_dtype == DType::int64 ? batch_of(one) : integers(one.batch, 2);
    set_requires_grad(weight);
    Tensor result = one.function(weight, batch);
    backward(result, {.gradients = {integers(result.shape(), 3)}});
    return grad_of(weight);
  };
  for (const BatchCase& one : cases) {
    Tensor canonical = gradient(one);
    Arithmetic exact = Arithmetic::exact();
    ArithmeticScope scope(exact);
    EXPECT_TRUE(same_bits(gradient(one), canonical)) << one.name;
  }
}

}  // namespace
}  // namespace simmesh
