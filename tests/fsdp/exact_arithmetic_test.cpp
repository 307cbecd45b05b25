#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/chunk.h"
#include "fsdp/fsdp_module.h"
#include "fsdp/named_params.h"
#include "fsdp/state/state.h"
#include "sharding/api/dtensor_clip.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

// Gradients of fully_shard in exact arithmetic, beyond the random draws of fully_shard_test.cpp.
namespace simmesh::fsdp {
namespace {

struct PrecisionTrial {
  MixedPrecisionPolicy precision = {};
  std::int64_t micro_batches = 1;
  Rule rule = Rule::unit;
};

void for_all_modules(nn::Module& model, const std::function<void(const FSDPModule&)>& f) {
  for (auto& [name, module] : model.named_modules())
    if (FSDPState::of(*module)) f(FSDPModule(*module));
}

// The whole gradients and the norm after a step on this rank's rows.
std::vector<Tensor> step_gradients(const PrecisionTrial& trial,
                                   const std::optional<DeviceMesh>& mesh) {
  TrainingModel plan = small_model(2, 5);
  for (ParameterData& parameter : plan.parameters) parameter.data.rule = trial.rule;
  nn::ModulePtr model = build_model(plan);
  shard_layers(*model, {.mesh = mesh, .mp_policy = trial.precision});
  for_all_modules(*model, [](const FSDPModule& module) { module.set_sums_gradients(true); });
  auto ranks = std::int64_t(this_rank().world().options().ranks);
  Chunk rows = chunk_of({.size = 12, .parts = ranks, .index = std::int64_t(this_rank().id())});
  for (std::int64_t micro = 0; micro < trial.micro_batches; ++micro) {
    Tensor batch = formula({12, 5}, {.rule = trial.rule, .seed = 40 + std::uint64_t(micro)});
    backward(sum((*model)(batch.narrow({0, rows.start, rows.length}))));
  }
  std::vector<Tensor> result = {total_norm(model->parameters(), 2.0)};
  for (const Tensor& parameter : model->parameters())
    result.push_back(DTensor::of(grad_of(parameter)).full_tensor());
  return result;
}

std::vector<Tensor> step_gradients_of_one_rank(const PrecisionTrial& trial) {
  std::vector<Tensor> result;
  World world({.ranks = 1, .arithmetic = Arithmetic::exact()});
  Outcome outcome = world.run([&](Rank&) { result = step_gradients(trial, {}); });
  EXPECT_TRUE(outcome.ok()) << outcome.failure->message;
  return result;
}

// Gradients of bfloat16 parameters, reduced in another dtype, are rounded once: to the dtype of the
// shards. So mixed precision on a mesh is mixed precision on one rank.
TEST(ExactArithmetic, MixedPrecisionIsThatOfOneRank) {
  constexpr std::optional<DType> none;
  for (const MixedPrecisionPolicy& precision :
       {MixedPrecisionPolicy{none, none}, MixedPrecisionPolicy{DType::bfloat16, none},
        MixedPrecisionPolicy{DType::bfloat16, DType::float32},
        MixedPrecisionPolicy{DType::float16, DType::bfloat16},
        MixedPrecisionPolicy{none, DType::float16}})
    for (Rule rule : {Rule::unit, Rule::wide})
      for (std::int64_t micro_batches : {1, 2}) {
        PrecisionTrial trial{precision, micro_batches, rule};
        std::vector<Tensor> one = step_gradients_of_one_rank(trial);
        for (std::size_t ranks : {2, 3, 4})
          every_schedule(
              ranks,
              [&](Rank& rank) {
                std::vector<Tensor> own = step_gradients(trial, {});
                for (std::size_t i = 0; i < one.size(); ++i) rank.expect_same_bits(own[i], one[i]);
              },
              Arithmetic::exact());
        every_schedule(
            4,
            [&](Rank& rank) {
              DeviceMesh mesh = init_device_mesh({2, 2}, {"replicate", "shard"});
              std::vector<Tensor> own = step_gradients(trial, mesh);
              for (std::size_t i = 0; i < one.size(); ++i) rank.expect_same_bits(own[i], one[i]);
            },
            Arithmetic::exact());
      }
}

// An infinity that only one rank's shard has is in the norm of all ranks, and magnitudes beyond
// 2^17.5 and below 2^-68 are no errors and don't vanish.
TEST(ExactArithmetic, ClippingKnowsAllMagnitudesOnAllRanks) {
  for (float value : {std::numeric_limits<float>::infinity(), 1e12f, 1e-12f, 1e-38f})
    for (double p : {1.0, 2.0, 3.0})
      every_schedule(
          4,
          [&](Rank& rank) {
            nn::ModulePtr model = build_model(small_model(1, 5));
            shard_layers(*model);
            for (const Tensor& parameter : model->parameters()) {
              Tensor owner = parameter,
                     local = zeros(parameter.local_part().shape(), DType::float32);
              if (rank.id() == 2 && local.numel() > 0) local.mutable_values<float>()[0] = value;
              set_grad(owner, DTensor(DTensor::of(parameter).spec(), local).as_tensor());
            }
            std::vector<Tensor> whole;
            for (const Tensor& parameter : model->parameters())
              whole.push_back(DTensor::of(grad_of(parameter)).full_tensor());
            Tensor norm = clip_grad_norm_(model->parameters(), {.max_norm = 1.0, .norm_type = p});
            rank.expect_same_bits(norm, optim::total_norm(whole, p));
            float found = norm.values<float>()[0];
            expect(std::isinf(value) ? std::isinf(found) : found >= value, "a norm of the value");
          },
          Arithmetic::exact());
}

// The user's own reduce-scatter and hook run, and see the same as in other arithmetics.
TEST(ExactArithmetic, HooksOfTheUserRun) {
  std::vector<std::int64_t> calls[2];
  for (bool is_exact : {false, true}) {
    std::vector<std::int64_t>& seen = calls[is_exact ? 1 : 0];
    World world(
        {.ranks = 4, .arithmetic = is_exact ? Arithmetic::exact() : Arithmetic::canonical()});
    Outcome outcome = world.run([&](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({2, 2}, {"replicate", "shard"});
      nn::ModulePtr model = build_model(small_model(1, 5));
      shard_layers(*model, {.mesh = mesh});
      std::vector<std::int64_t> own;
      for_all_modules(*model, [&](const FSDPModule& module) {
        module.set_all_reduce_hook([&](Tensor& reduced) {
          own.push_back(reduced.numel());
          mul_(reduced, 2);
        });
        module.set_custom_reduce_scatter({.call = [&](const ReduceScatterCall& call) {
          own.push_back(-call.input.numel());
          return reduce_scatter(call.input, call.reduce, {}, call.group);
        }});
      });
      backward(sum((*model)(formula({2, 5}, {.rule = Rule::small, .seed = rank.id()}))));
      if (rank.id() == 0) seen = own;
    });
    ASSERT_TRUE(outcome.ok()) << outcome.failure->message;
  }
  EXPECT_EQ(calls[0], calls[1]);
  EXPECT_FALSE(calls[0].empty());
}

// Sums in place of means need sums that don't round.
TEST(ExactArithmetic, SumsOfGradientsAreRefusedElsewhere) {
  std::string failure = failure_of(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(1, 5));
    shard_layers(*model);
    FSDPModule(*model).set_sums_gradients(true);
  });
  EXPECT_NE(failure.find("expected exact arithmetic"), std::string::npos) << failure;
}

}  // namespace
}  // namespace simmesh::fsdp
