#include "training/unused_experts.h"

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/nn/moe.h"
#include "core/ops/reductions/reductions.h"
#include "core/ops/shapes/factories.h"
#include "core/tensor/formula.h"
#include "fsdp/fully_shard.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

// The router sends each token to the expert of its largest feature.
std::shared_ptr<nn::Moe> routed_by_feature() {
  auto moe = std::make_shared<nn::Moe>(
      nn::Moe::Options{.width = 3, .hidden = 2, .experts = 3, .top_k = 1});
  for (auto& [name, parameter] : moe->named_parameters()) {
    Tensor values = parameter.detach();
    copy_(values, formula(values.shape(), {.rule = Rule::unit, .seed = 3}));
  }
  Tensor router = moe->child("router").parameter("weight").detach();
  copy_(router, tensor_of<float>({3, 3}, {9, 0, 0, 0, 9, 0, 0, 0, 9}));
  return moe;
}

Tensor token_for(std::size_t expert) {
  Tensor token = zeros({1, 3}, DType::float32);
  token.mutable_values<float>()[expert] = 1.0F;
  return token;
}

bool has_gradient(nn::Module& moe, const std::string& expert) {
  return grad_of(moe.find("experts." + expert + ".fc1").parameter("weight")).is_defined();
}

// Expert 0 gets a token of one rank only and must keep its gradient on both; expert 2 gets none,
// and its zeros would decay its weights. The next step counts anew.
SIMMESH_TEST(UnusedExperts, DropsTheGradientsOfThoseThatNoRankCalled, {.mesh = {2}}) {
  std::size_t rank = std::size_t(mesh.get_local_rank());
  std::shared_ptr<nn::Moe> moe = routed_by_feature();
  fsdp::FSDPModule sharded = fsdp::fully_shard(*moe, {.mesh = mesh});
  sharded.set_reduce_scatter_unused_params(true);
  UnusedExperts unused(*moe);
  backward(sum((*moe)(token_for(rank))));
  EXPECT_TRUE(has_gradient(*moe, "expert2"));
  unused.drop_gradients();
  EXPECT_TRUE(has_gradient(*moe, "expert0"));
  EXPECT_TRUE(has_gradient(*moe, "expert1"));
  EXPECT_FALSE(has_gradient(*moe, "expert2"));
  moe->zero_grad();
  backward(sum((*moe)(token_for(2))));
  unused.drop_gradients();
  EXPECT_FALSE(has_gradient(*moe, "expert0"));
  EXPECT_TRUE(has_gradient(*moe, "expert2"));
}

// Where nothing is sharded, an expert without tokens has no gradient anyway.
SIMMESH_TEST(UnusedExperts, LeavesPlainExpertsAlone, {.mesh = {1}, .schedules = 1}) {
  std::shared_ptr<nn::Moe> moe = routed_by_feature();
  UnusedExperts unused(*moe);
  backward(sum((*moe)(token_for(1))));
  unused.drop_gradients();
  EXPECT_TRUE(has_gradient(*moe, "expert1"));
  EXPECT_FALSE(has_gradient(*moe, "expert0"));
}

}  // namespace
}  // namespace simmesh
