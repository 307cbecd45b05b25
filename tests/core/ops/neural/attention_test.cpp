#include "core/ops/neural/attention.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/ranks/rank.h"
#include "core/engine/world.h"
#include "core/ops/indexing/rearranging.h"
#include "core/tensor/formula.h"

namespace simmesh {
namespace {

struct HeadSizes {
  std::int64_t heads;
  std::int64_t kv_heads;
  bool is_causal;
};

struct HeadTensors {
  std::vector<Tensor> all;
  Tensor g;

  explicit HeadTensors(const HeadSizes& sizes) {
    std::uint64_t seed = 3;
    auto drawn = [&](const Shape& shape) {
      return formula(shape, {.rule = Rule::unit, .seed = seed++});
    };
    all = {drawn({2, sizes.heads, 5, 4}), drawn({2, sizes.kv_heads, 5, 4}),
           drawn({2, sizes.kv_heads, 5, 3})};
    g = drawn({2, sizes.heads, 5, 3});
    for (Tensor& tensor : all) set_requires_grad(tensor);
  }
};

Tensor in_plain_ops(const std::vector<Tensor>& x, const HeadSizes& sizes) {
  std::int64_t times = sizes.heads / sizes.kv_heads;
  Tensor k = times == 1 ? x[1] : repeat_interleave(x[1], times, 1);
  Tensor v = times == 1 ? x[2] : repeat_interleave(x[2], times, 1);
  return scaled_dot_product_attention(x[0], k, v, {.is_causal = sizes.is_causal});
}

// The one op must compute what the plain ones do, to the bit, forward and backward.
TEST(FlashAttention, HasTheBitsOfPlainOps) {
  for (HeadSizes sizes : {HeadSizes{2, 2, false}, {2, 2, true}, {6, 2, true}, {4, 1, false}}) {
    SCOPED_TRACE(fmt::format("{} heads over {}", sizes.heads, sizes.kv_heads));
    HeadTensors flash(sizes), plain(sizes);
    Tensor y =
        flash_attention(flash.all[0], flash.all[1], flash.all[2], {.is_causal = sizes.is_causal});
    Tensor expected = in_plain_ops(plain.all, sizes);
    EXPECT_TRUE(same_bits(y.detach(), expected.detach()));
    backward(y, {.gradients = {flash.g}});
    backward(expected, {.gradients = {plain.g}});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(same_bits(grad_of(flash.all[i]), grad_of(plain.all[i]))) << i;
  }
}

// A rank would be charged for scores that a fused kernel never holds.
TEST(FlashAttention, KeepsNoScores) {
  constexpr std::int64_t length = 1024;
  World world({.shapes_only = true});
  Outcome outcome = world.run([](Rank&) {
    Tensor q = zeros({1, 2, length, 8}, DType::float32);
    set_requires_grad(q);
    Tensor g = zeros({1, 2, length, 8}, DType::float32);
    backward(flash_attention(q, q, q), {.gradients = {g}});
  });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
  EXPECT_LT(outcome.peak_bytes, length * length * 4);
}

TEST(FlashAttention, RefusesShapesThatDontGoTogether) {
  auto x = [](std::initializer_list<std::int64_t> shape) { return zeros(shape, DType::float32); };
  EXPECT_THROW(flash_attention(x({1, 3, 4, 2}), x({1, 2, 4, 2}), x({1, 2, 4, 2})), Error);
  EXPECT_THROW(flash_attention(x({3, 4, 2}), x({3, 4, 2}), x({3, 4, 2})), Error);
  EXPECT_THROW(flash_attention(x({1, 2, 4, 2}), x({1, 2, 4, 3}), x({1, 2, 4, 2})), Error);
}

}  // namespace
}  // namespace simmesh
