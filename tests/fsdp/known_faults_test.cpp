#include <gtest/gtest.h>

#include <simmesh/collectives/collectives.h>
#include <simmesh/core/autograd/backward.h>
#include <simmesh/core/autograd/variable.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/fsdp/named_params.h>
#include <simmesh/fsdp/state_dict.h>
#include <simmesh/sharding/dtensor.h>
#include <simmesh/tests/fsdp/sharded_worlds.h>

// Faults that users of the real system met. Each test shows that the faulty program is reported,
// and that the right one beside it isn't.
namespace simmesh::fsdp {
namespace {

Tensor fault_input() { return formula({2, 4}, {.rule = Rule::unit, .seed = 3}); }

std::string failure_of(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  Outcome outcome = world.run(body);
  return outcome.ok() ? "" : outcome.failure->message + outcome.failure->details;
}

nn::ModulePtr fan_of_two() {
  nn::ModelNode node{"", "fan", {}, {}};
  for (const char* name : {"p", "q"})
    node.children.push_back(
        {name, "linear", {{"in", std::int64_t(4)}, {"out", std::int64_t(4)}}, {}});
  return nn::build(node);
}

// Ranks that use different parameters of a group reduce buffers of different sizes: a hang, or
// mixed up gradients. Here the collective names both sides; reducing unused ones as zeros cures it.
TEST(KnownFaults, RanksUseDifferentParameters) {
  auto body = [](bool as_zero) {
    return [as_zero](Rank& rank) {
      nn::ModulePtr model = fan_of_two();
      fully_shard(*model);
      FSDPModule(*model).set_reduce_scatter_unused_params(as_zero);
      nn::Tensors outputs = model->call({fault_input()});
      if (rank.id() == 0)
        backward(sum(outputs[0]));
      else
        backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
    };
  };
  EXPECT_NE(failure_of(2, body(false)).find("reduce_scatter"), std::string::npos);
  EXPECT_EQ(failure_of(2, body(true)), "");
}

// A rank that skips a module never comes to its gather.
TEST(KnownFaults, ARankSkipsAModule) {
  auto body = [](bool skips) {
    return [skips](Rank& rank) {
      nn::ModulePtr model = build_model(small_model(2, 4));
      for (const auto& [name, layer] : model->find("layers").children()) fully_shard(*layer);
      Tensor x = fault_input();
      for (const auto& [name, layer] : model->find("layers").children())
        if (!(skips && rank.id() == 1 && name == "1")) x = (*layer)(x);
    };
  };
  EXPECT_NE(failure_of(2, body(true)), "");
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// Replicas that start from other values stay apart for ever, because nothing compares them.
TEST(KnownFaults, ReplicasStartApart) {
  auto body = [](bool apart) {
    return [apart](Rank& rank) {
      TrainingModel plan = small_model(1, 4);
      DeviceMesh mesh = init_device_mesh({2, 1}, {"replicate", "shard"});
      if (apart) plan.parameters[0].data.seed += rank.id();
      nn::ModulePtr model = build_model(plan);
      fully_shard(*model, {.mesh = mesh});
      std::vector<Tensor> others =
          all_gather_list(model->parameters()[0].local_part(), process_group(mesh, "replicate"));
      rank.expect_same_bits(others[1], others[0]);
    };
  };
  EXPECT_NE(failure_of(2, body(true)), "");
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// A shard that is padded again leaves a cached state dict behind, on ranks with padding only.
TEST(KnownFaults, AShardIsPaddedAgain) {
  auto body = [](bool pads) {
    return [pads](Rank&) {
      nn::ModulePtr model = build_model(small_model(1, 5));
      fully_shard(*model);
      nn::StateDict cached = state_dict(*model);
      for (const NamedParam& named : named_params(*model)) {
        DTensor shard = DTensor::of(named.param->sharded_param());
        if (pads && shard.local().shape() != named.param->padded_shape())
          replace_value(named.param->sharded_param(), DTensor(shard.spec(), shard.local().clone()));
        named.param->reset_sharded_param();
      }
      nn::StateDict now = state_dict(*model);
      for (std::size_t i = 0; i < now.size(); ++i)
        expect(now[i].second.local_part().storage() == cached[i].second.local_part().storage(),
               "a state dict that aliases the live shards");
    };
  };
  EXPECT_NE(failure_of(2, body(true)), "");
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// A prefetch that names the wrong module gathers in vain; the record says so.
TEST(KnownFaults, APrefetchNamesTheWrongModule) {
  for (bool wrong : {true, false}) {
    every_schedule(2, [wrong](Rank&) {
      nn::ModulePtr model = build_model(small_model(3, 4));
      shard_layers(*model, {.reshard_after_forward = true});
      auto layer = [&](const char* name) { return &model->find("layers").child(name); };
      FSDPModule(*layer("1")).set_modules_to_backward_prefetch({layer(wrong ? "2" : "0")});
      std::int64_t dropped = 0;
      ObserverScope observer([&](const Event& event) {
        dropped += event.kind == EventKind::finalize && event.detail == "drops_gather";
      });
      backward(sum((*model)(fault_input())));
      expect((dropped > 0) == wrong, "a dropped gather just where the target is wrong");
    });
  }
}

}  // namespace
}  // namespace simmesh::fsdp
