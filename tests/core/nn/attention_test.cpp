#include "core/nn/attention.h"

#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/tensor/formula.h"

namespace simmesh::nn {
namespace {

void fill_attention(Module& module) {
  std::uint64_t seed = 1;
  for (auto& [name, tensor] : module.named_parameters()) {
    Tensor plain = tensor.detach();
    copy_(plain, formula(tensor.shape(), {.rule = Rule::unit, .seed = seed++}));
  }
}

Tensor attention_input() { return formula({2, 5, 8}, {.rule = Rule::unit, .seed = 9}); }

// One op or many: the same bits, also where heads share keys and values.
TEST(Attention, FlashHasTheBitsOfPlainOps) {
  for (std::int64_t kv_heads : {4, 2, 1}) {
    Attention::Options options{
        .width = 8, .heads = 4, .causal = true, .kv_heads = kv_heads, .rotary_theta = 100.0};
    Attention plain(options);
    options.flash = true;
    Attention flash(options);
    fill_attention(plain);
    fill_attention(flash);
    Tensor a = plain(attention_input()), b = flash(attention_input());
    EXPECT_TRUE(same_bits(a.detach(), b.detach())) << kv_heads;
    Tensor g = formula({2, 5, 8}, {.rule = Rule::unit, .seed = 10});
    backward(a, {.gradients = {g}});
    backward(b, {.gradients = {g}});
    auto left = plain.parameters(), right = flash.parameters();
    for (std::size_t i = 0; i < left.size(); ++i)
      EXPECT_TRUE(same_bits(grad_of(left[i]), grad_of(right[i]))) << i;
  }
}

// Equal key and value heads are what shared ones are.
TEST(Attention, SharedHeadsAreEqualHeads) {
  Attention shared({.width = 8, .heads = 4, .kv_heads = 1});
  Attention whole({.width = 8, .heads = 4});
  fill_attention(shared);
  fill_attention(whole);
  for (const char* name : {"wk", "wv"}) {
    Tensor narrow = shared.child(name).parameter("weight").detach();
    EXPECT_EQ(narrow.shape(), (Shape{2, 8}));
    Tensor wide = whole.child(name).parameter("weight").detach();
    for (std::int64_t head = 0; head < 4; ++head) {
      Tensor rows = wide.narrow({0, 2 * head, 2});
      copy_(rows, narrow);
    }
  }
  EXPECT_TRUE(same_bits(shared(attention_input()).detach(), whole(attention_input()).detach()));
}

TEST(Attention, RefusesHeadsThatDontDivide) {
  EXPECT_THROW(Attention({.width = 8, .heads = 3}), Error);
  EXPECT_THROW(Attention({.width = 8, .heads = 4, .kv_heads = 3}), Error);
}

}  // namespace
}  // namespace simmesh::nn
