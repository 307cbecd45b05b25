#include "core/ops/neural/attention.h"

#include "tests/sharding/strategies/whole_tensor_oracle.h"

namespace simmesh {
namespace {

using namespace whole_tensor_oracle;

Call attention(std::int64_t heads, std::int64_t shared_heads) {
  Placements alphabet = {Replicate(), Shard(0), Shard(1), Shard(2)};
  return {"flash_attention",
          {{{2, heads, 3, 2}, alphabet},
           {{2, shared_heads, 3, 2}, alphabet},
           {{2, shared_heads, 3, 2}, alphabet}},
          [](gsl::span<const Tensor> in) {
            return Outputs{flash_attention(in[0], in[1], in[2], {.is_causal = true})};
          }};
}

// Batches and heads are independent; heads that share a key stay together.
TEST(FlashAttentionStrategies, AttentionEqualsOneDevice) {
  for (auto [heads, shared] : {std::pair{4, 4}, std::pair{4, 2}, std::pair{6, 3}})
    expect_whole_bits(attention(heads, shared), {.meshes = {{2}}, .schedules = {"fifo", "pct:3"}});
}

// In plain products and a softmax, causal or not.
TEST(FlashAttentionStrategies, ScaledProductsEqualOneDevice) {
  Placements alphabet = {Replicate(), Shard(0), Shard(1), Shard(3), partial_sum};
  for (bool is_causal : {false, true})
    expect_whole_bits(
        {"scaled_dot_product_attention",
         {{{2, 2, 3, 2}, alphabet}, {{2, 2, 3, 2}, alphabet}, {{2, 2, 3, 2}, alphabet}},
         [is_causal](gsl::span<const Tensor> in) {
           return Outputs{
               scaled_dot_product_attention(in[0], in[1], in[2], {.is_causal = is_causal})};
         }},
        {.meshes = {{2}}, .schedules = {"fifo", "pct:3"}, .arithmetic = Arithmetic::exact()});
}

}  // namespace
}  // namespace simmesh
