#include <gtest/gtest.h>
#include <optional>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/named_params.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

// Faults that users of the real system met. Each test shows that the faulty program is reported,
// and that the right one beside it isn't.
namespace simmesh::fsdp {
namespace {

Tensor fault_input() { return formula({2, 4}, {.rule = Rule::unit, .seed = 3}); }

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

// A rank that skips a module never reaches its gather.
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
  EXPECT_NE(failure_of(2, body(true)).find("no call by rank 1"), std::string::npos)
      << failure_of(2, body(true));
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

// A shard that is padded again makes a cached state dict stale, on ranks with padding only.
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
      ObserverScope observer([&](const Event& event) { dropped += event.drops_gather; });
      backward(sum((*model)(fault_input())));
      expect((dropped > 0) == wrong, "a dropped gather just where the target is wrong");
    });
  }
}

// Gradients were divided by the number of shards alone where parameters are replicated too, and
// steps were too large by the number of replicas. The mean is over all ranks on any mesh.
TEST(KnownFaults, ReplicasAreLeftOutOfTheMean) {
  auto body = [](std::optional<double> factor) {
    return [factor](Rank& rank) {
      std::vector<Tensor> gradients;
      for (const Shape& shape : {Shape{4, 1}, Shape{2, 2}}) {
        nn::ModulePtr model = build_model(small_model(1, 4));
        fully_shard(*model, {.mesh = init_device_mesh(shape, {"replicate", "shard"})});
        if (factor && shape[1] > 1) FSDPModule(*model).set_gradient_divide_factor(*factor);
        backward(sum((*model)(fault_input())));
        gradients.push_back(DTensor::of(grad_of(model->parameters()[0])).full_tensor());
      }
      rank.expect_same_bits(gradients[1], gradients[0]);
    };
  };
  EXPECT_NE(failure_of(4, body(2.0)), "");
  EXPECT_EQ(failure_of(4, body(std::nullopt)), "");
}

// Reductions average over the ranks: a loss that is divided by their number as well trains at a
// fraction of its rate, and nothing says so but the gradients of one device.
TEST(KnownFaults, TheLossIsDividedByTheRanksToo) {
  auto body = [](double divisor) {
    return [divisor](Rank& rank) {
      nn::ModulePtr whole = build_model(small_model(1, 4)), model = build_model(small_model(1, 4));
      backward(sum((*whole)(fault_input())));
      fully_shard(*model);
      backward(div(sum((*model)(fault_input())), divisor));
      rank.expect_same_bits(DTensor::of(grad_of(model->parameters()[0])).full_tensor(),
                            grad_of(whole->parameters()[0]));
    };
  };
  EXPECT_NE(failure_of(2, body(2)), "");
  EXPECT_EQ(failure_of(2, body(1)), "");
}

// Gradients of gradients need parameters that the first backward gave up. The error says that their
// storage was freed; keeping them is the cure.
TEST(KnownFaults, SecondOrderGradientsMeetFreedParameters) {
  auto body = [](bool keeps) {
    return [keeps](Rank&) {
      nn::ModulePtr model = build_model(small_model(1, 4));
      fully_shard(*model);
      FSDPModule(*model).set_reshard_after_backward(!keeps);
      FSDPModule(*model).set_is_last_backward(false);
      Tensor x = fault_input();
      set_requires_grad(x);
      Tensor y = (*model)(x);
      // Kept with the parameters, gradients that are recorded would keep them alive in turn.
      backward(sum(grad({sum(y)}, {x}, {.create_graph = true})[0]));
    };
  };
  EXPECT_NE(failure_of(2, body(false)).find("was freed"), std::string::npos)
      << failure_of(2, body(false));
  EXPECT_EQ(failure_of(2, body(true)), "");
}

// Where nothing is asked for the root stays gathered after forward, which was a surprise; an
// explicit wish is obeyed.
TEST(KnownFaults, TheRootStaysGathered) {
  auto body = [](ReshardAfterForward reshard) {
    return [reshard](Rank&) {
      nn::ModulePtr model = build_model(small_model(1, 4));
      fully_shard(*model, {.reshard_after_forward = reshard});
      (*model)(fault_input());
      expect(FSDPModule(*model).state().groups()[0]->sharded_state() == ShardedState::sharded,
             "shards after forward");
    };
  };
  EXPECT_NE(failure_of(2, body({})), "");
  EXPECT_EQ(failure_of(2, body(true)), "");
}

}  // namespace
}  // namespace simmesh::fsdp
