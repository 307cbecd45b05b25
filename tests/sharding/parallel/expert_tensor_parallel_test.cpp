#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/parallel/colwise_parallel.h"
#include "sharding/parallel/expert_parallel.h"
#include "sharding/parallel/parallelize.h"
#include "sharding/parallel/rowwise_parallel.h"
#include "testing/gtest.h"

// Experts with tensor parallelism of their own: tokens are cut over one mesh dim, on which experts
// are spread, and the layers of each expert are cut over the other.
namespace simmesh {
namespace {

std::unique_ptr<nn::Moe> cut_moe() {
  auto moe = std::make_unique<nn::Moe>(nn::Moe::Options{.width = 4,
                                                        .hidden = 6,
                                                        .experts = 3,
                                                        .top_k = 2,
                                                        .capacity_factor = 1.0,
                                                        .router = {.aux_loss = 0.5}});
  std::uint64_t seed = 60;
  for (auto& [name, parameter] : moe->named_parameters()) {
    Tensor target = parameter.detach();
    copy_(target, formula(parameter.shape(), {.rule = Rule::unit, .seed = ++seed}));
  }
  return moe;
}

Tensor leaf_copy(const Tensor& values) {
  Tensor leaf = values.clone();
  set_requires_grad(leaf);
  return leaf;
}

// If this fails, an expert whose layers are cut gets another input or gradient than a whole one: a
// sum is counted once a rank, or left out.
SIMMESH_TEST(
    ExpertTensorParallel, IsOneDevice,
    {.mesh = {2, 2}, .names = {"ep", "etp"}, .schedules = 4, .arithmetic = Arithmetic::exact()}) {
  ProcessGroup ep = process_group(mesh, "ep");
  Tensor x = formula({5, 4}, {.rule = Rule::unit, .seed = 1});
  Tensor upstream = formula({5, 4}, {.rule = Rule::unit, .seed = 2});
  auto one = cut_moe();
  Tensor whole_input = leaf_copy(x);
  Tensor whole_output = (*one)(whole_input);
  backward(whole_output, {.gradients = {upstream}});

  auto own = [&](const Tensor& rows) {
    return rows.narrow({0, ep.rank() == 0 ? 0 : 3, ep.rank() == 0 ? 3 : 2}).contiguous();
  };
  auto moe = cut_moe();
  parallelize(*moe, mesh["etp"],
              {{"experts.*.fc1", ColwiseParallel()}, {"experts.*.fc2", RowwiseParallel()}});
  ExpertParallel().apply(*moe, mesh["ep"]);
  ProcessGroup tokens = ProcessGroup::of(ep.members(), "tokens");
  moe->set_token_part({.part = ep.rank(), .parts = 2, .sum = [tokens](const Tensor& value) {
                         return all_reduce(value, ReduceOp::sum, tokens);
                       }});
  Tensor input = leaf_copy(own(x));
  Tensor output = (*moe)(input);
  backward(output, {.gradients = {own(upstream)}});
  EXPECT_SAME_BITS(output.detach(), own(whole_output.detach()));
  EXPECT_SAME_BITS(grad_of(input), own(grad_of(whole_input)));
  auto all = one->named_parameters();
  for (const auto& [name, parameter] : moe->named_parameters()) {
    auto found = std::find_if(all.begin(), all.end(),
                              [&name = name](const auto& other) { return other.first == name; });
    Tensor gradient = grad_of(parameter), wanted = grad_of(found->second);
    if (gradient.is_defined() != wanted.is_defined()) throw std::runtime_error(name);
    if (!wanted.is_defined()) continue;
    if (gradient.distribution()) gradient = DTensor::of(gradient).full_tensor();
    KeepUnrounded scope;
    if (!is_expert_parameter(*one, name)) gradient = all_reduce(gradient, ReduceOp::sum, ep);
    EXPECT_SAME_BITS(gradient, wanted);
  }
}

}  // namespace
}  // namespace simmesh
