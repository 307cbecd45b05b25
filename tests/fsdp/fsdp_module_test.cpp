#include <algorithm>
#include <gtest/gtest.h>

#include <simmesh/core/autograd/backward.h>
#include <simmesh/core/nn/containers.h>
#include <simmesh/core/ops/pointwise.h>
#include <simmesh/core/ops/reductions.h>
#include <simmesh/tests/fsdp/sharded_worlds.h>

namespace simmesh::fsdp {
namespace {

Tensor module_input() { return formula({2, 5}, {.rule = Rule::unit, .seed = 3}); }

// Two roots, each with two layers.
struct TwoRoots {
  TwoRoots() : a(build_model(small_model(2, 5))), b(build_model(small_model(2, 5))) {
    shard_layers(*a);
    shard_layers(*b);
  }
  nn::ModulePtr a, b;
};

std::vector<EventFields> iteration(nn::Module& model) {
  std::vector<EventFields> events;
  ObserverScope observer([&](const Event& event) { events.push_back(fields_of(event, model)); });
  backward(sum(model(module_input())));
  return events;
}

bool drops(const std::vector<EventFields>& events) {
  for (const EventFields& event : events)
    for (const EventField& field : event)
      if (field == EventField("drops_gather")) return true;
  return false;
}

// Sharing after the first forwards reaches nested modules too: each root goes on as if alone, over
// any number of iterations. PyTorch's roots prefetch each other's layers.
TEST(ShareCommCtx, LeavesEachRootsEventsAsTheyAre) {
  every_schedule(2, [](Rank&) {
    TwoRoots alone, shared;
    iteration(*shared.a);
    iteration(*shared.b);
    iteration(*alone.a);
    share_comm_ctx({shared.a.get(), shared.b.get()});
    std::vector<EventFields> expected = iteration(*alone.a);
    for (int i = 0; i < 3; ++i) {
      expect(iteration(*shared.a) == expected, "the events of a root of its own");
      expect(iteration(*shared.b) == expected, "the events of a root of its own");
    }
  });
}

// Sharing before the first forwards: the second root's first forward leaves the order of the first
// alone. Both backward passes in one then gather nothing in vain.
TEST(ShareCommCtx, GathersNothingInVainWhereRootsAlternate) {
  every_schedule(2, [](Rank&) {
    TwoRoots roots;
    share_comm_ctx({roots.a.get(), roots.b.get()});
    for (int i = 0; i < 3; ++i) {
      std::vector<EventFields> events;
      ObserverScope observer(
          [&](const Event& event) { events.push_back(fields_of(event, *roots.a)); });
      Tensor a = sum((*roots.a)(module_input())), b = sum((*roots.b)(module_input()));
      backward(add(a, b));
      expect(!drops(events), "no gather that nobody waits for");
    }
  });
}

bool refuses(const std::function<void()>& act, ErrorKind kind) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind() == kind;
  }
  return false;
}

// A module below another one of the list is part of that one; the same twice is a mistake.
TEST(FSDPModule, IsMadeOfTheOutermostModulesOfAList) {
  every_schedule(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(2, 5));
    nn::Module* layer = &model->find("layers.0");
    std::vector<nn::Module*> nested = {&model->find("layers.0.up"), layer};
    fully_shard(nested);
    expect(FSDPState::of(*layer)->modules() == std::vector{layer}, "the outer module alone");
    std::vector<nn::Module*> twice(2, &model->find("layers.1"));
    expect(refuses([&] { fully_shard(twice); }, ErrorKind::assertion_error), "a refusal");
  });
}

// Dims count from the last one only down to the first.
TEST(FSDPModule, RefusesShardDimsBelowTheFirst) {
  every_schedule(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(1, 4));
    FullyShardOptions options;
    options.shard_placement_fn = [](const Tensor&) {
      return ShardPlacementResult{.placement = Shard(-3)};
    };
    expect(refuses([&] { fully_shard(*model, options); }, ErrorKind::assertion_error), "a refusal");
  });
}

// In a recomputation the module between two that form a group begins the forward, so that its end
// completes the group: the second one begins anew.
TEST(FSDPModule, GroupsBeginAnewWhereARecomputationsRootEnds) {
  every_schedule(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(1, 5, true));
    std::vector<nn::Module*> group = {&model->find("layers.0.up"), &model->find("layers.0.down")};
    fully_shard(model->find("layers.0.act"));
    fully_shard(group);
    fully_shard(*model);
    EventFields begins = {"forward_root", "layers.0.up, layers.0.down"};
    for (int i = 0; i < 2; ++i) {
      std::vector<EventFields> events = iteration(*model);
      expect(std::count(events.begin(), events.end(), begins) == 1, "one such event");
    }
  });
}

// As a pipeline does: micro-batches without communication, flags flipped on the last one.
TEST(FSDPModule, ReducesOnceOverMicroBatches) {
  every_schedule(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(2, 5));
    shard_layers(*model);
    FSDPModule root(*model);
    std::int64_t reductions = 0;
    ObserverScope observer(
        [&](const Event& event) { reductions += event.kind == EventKind::reduce_scatter; });
    for (int micro = 0; micro < 3; ++micro) {
      bool is_last = micro == 2;
      root.set_is_last_backward(is_last);
      root.set_reshard_after_backward(is_last);
      root.set_requires_gradient_sync(is_last);
      backward(sum((*model)(module_input())));
      expect(reductions == (is_last ? 3 : 0), "one reduction a group, at the end");
    }
  });
}

// A method that isn't forward finds its parameters gathered, and gives them up again.
TEST(FSDPModule, RunsItsHooksAroundOtherMethods) {
  every_schedule(2, [](Rank&) {
    nn::ModulePtr model = build_model(small_model(1, 5));
    fully_shard(*model, {.reshard_after_forward = true});
    ForwardMethod twice = register_fsdp_forward_method(
        *model, "twice", [&](const nn::Tensors& inputs) -> nn::Tensors {
          return {mul(model->forward(inputs)[0], 2.0)};
        });
    nn::Tensors outputs = twice({module_input()});
    expect(model->parameters()[0].distribution() != nullptr, "shards after the call");
    backward(sum(outputs[0]));
  });
}

}  // namespace
}  // namespace simmesh::fsdp
