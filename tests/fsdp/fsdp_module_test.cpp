#include <algorithm>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/check/error.h"
#include "core/nn/containers.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/param/options.h"
#include "fsdp/state/event_fields.h"
#include "sharding/dtensor/dtensor.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

using simmesh::testing::expect_error;

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

// Sharing after the first forwards reaches nested modules too: each root behaves as if alone, over
// any number of iterations. PyTorch's roots prefetch each other's layers.
SIMMESH_TEST(ShareCommCtx, LeavesEachRootsEventsAsTheyAre, {.mesh = {2}}) {
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
}

// Sharing before the first forwards: the second root's first forward leaves the order of the first
// alone. Both backward passes in one then gather nothing in vain.
SIMMESH_TEST(ShareCommCtx, GathersNothingInVainWhereRootsAlternate, {.mesh = {2}}) {
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
}

// A module below another one of the list is part of that one; the same twice is a mistake.
SIMMESH_TEST(FSDPModule, IsMadeOfTheOutermostModulesOfAList, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  nn::Module* layer = &model->find("layers.0");
  std::vector<nn::Module*> nested = {&model->find("layers.0.up"), layer};
  fully_shard(nested);
  expect(FSDPState::of(*layer)->modules() == std::vector{layer}, "the outer module alone");
  std::vector<nn::Module*> twice(2, &model->find("layers.1"));
  expect_error([&] { fully_shard(twice); }, ErrorKind::assertion_error);
}

// A parameter's own mesh makes a group of its own. Two meshes of the whole world would have one
// process group.
SIMMESH_TEST(FSDPModule, GroupsParametersByTheirOwnMeshes, {.mesh = {4}}) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  auto own_mesh_for_biases = [](const DeviceMesh& own) {
    FullyShardOptions options;
    options.shard_placement_fn = [own](const Tensor& parameter) {
      ShardPlacementResult result;
      if (parameter.dim() == 1) result.mesh = own;
      return result;
    };
    return options;
  };
  DeviceMesh whole = init_device_mesh({4}), half = init_device_mesh({2, 2}, {"a", "b"})["b"];
  nn::Module& layer = model->find("layers.0");
  expect_error([&] { fully_shard(layer, own_mesh_for_biases(whole)); }, ErrorKind::value_error);
  FullyShardOptions options = own_mesh_for_biases(half);
  options.mesh = half;
  nn::Module& other = model->find("layers.1");
  fully_shard(other, options);
  expect(FSDPState::of(other)->groups().size() == 2, "a group for each mesh");
}

// The default prefetch of a module with several groups looks past its own entries, also where
// forwards repeat.
SIMMESH_TEST(FSDPModule, PrefetchesPastItsOwnGroups, {.mesh = {4}}) {
  TrainingModel plan = small_model(1, 5);
  nn::ModelNode linear = plan.node.children[0], root = plan.node;
  root.children = {linear, linear};
  root.children[1].name = "second";
  nn::ModulePtr model = nn::build(root, {});
  FullyShardOptions options;
  options.shard_placement_fn = [](const Tensor& parameter) {
    ShardPlacementResult result;
    if (parameter.dim() == 1) result.mesh = init_device_mesh({2, 2}, {"a", "b"})["b"];
    return result;
  };
  fully_shard(model->find("in"));
  fully_shard(model->find("second"), options);
  fully_shard(*model);
  (*model)(module_input());
  Tensor y = (*model)(module_input());
  std::vector<EventFields> events;
  ObserverScope observer([&](const Event& event) { events.push_back(fields_of(event, *model)); });
  backward(sum(y));
  EventFields prefetch = {"prefetch", "in", "backward", "second"};
  expect(std::count(events.begin(), events.end(), prefetch) == 2, "one of each forward");
}

// Without a dim for shard each rank keeps whole parameters.
SIMMESH_TEST(FSDPModule, ReplicatesOverNamedDims, {.mesh = {2, 2}, .names = {"dp", "tp"}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  for (auto& [name, module] : model->named_modules())
    for (nn::ParameterSlot& slot : module->slots())
      slot.tensor = distribute_tensor(slot.tensor.detach(), mesh, {Replicate(), Replicate()},
                                      {.from_first_rank = false})
                        .as_tensor();
  FullyShardOptions options{.mesh = mesh, .reshard_after_forward = 3};
  options.dp_mesh_dims = DataParallelMeshDims{.replicate = {"dp"}};
  fully_shard(*model, options);
  for (const Tensor& parameter : model->parameters()) {
    expect(DTensor::of(parameter).placements() == Placements{Replicate(), Replicate()}, "no shard");
    expect(parameter.local_part().shape() == parameter.shape(), "the whole parameter");
  }
}

// A root has no iteration to reset before its first forward.
SIMMESH_TEST(FSDPModule, ResetsNothingBeforeTheFirstForward, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  shard_layers(*model);
  FSDPModule root(*model), layer(model->find("layers.0"));
  expect_error([&] { root.reset_iter_state(); }, ErrorKind::attribute_error);
  iteration(*model);
  expect_error([&] { layer.reset_iter_state(); }, ErrorKind::runtime_error);
  root.reset_iter_state();
}

// Pieces on a smaller mesh are gathered there, whatever was set since. PyTorch gathers them over
// the whole mesh.
SIMMESH_TEST(FSDPModule, GathersWhereThePiecesLie, {.mesh = {4}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  fully_shard(model->find("layers.0"), {.reshard_after_forward = 2});
  fully_shard(*model);
  Tensor first = (*model)(module_input());
  FSDPModule(model->find("layers.0")).set_reshard_after_forward(true);
  EXPECT_SAME_BITS((*model)(module_input()), first);
}

// Dims count from the last one only down to the first.
SIMMESH_TEST(FSDPModule, RefusesShardDimsBelowTheFirst, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 4));
  FullyShardOptions options;
  options.shard_placement_fn = [](const Tensor&) {
    return ShardPlacementResult{.placement = Shard(-3)};
  };
  expect_error([&] { fully_shard(*model, options); }, ErrorKind::assertion_error);
}

// In a recomputation the module between two that form a group begins the forward, so that its end
// completes the group: the second one begins anew.
SIMMESH_TEST(FSDPModule, GroupsBeginAnewWhereARecomputationsRootEnds, {.mesh = {2}}) {
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
}

// As a pipeline does: micro-batches without communication, flags flipped on the last one.
SIMMESH_TEST(FSDPModule, ReducesOnceOverMicroBatches, {.mesh = {2}}) {
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
    expect(reductions == (is_last ? 3 : 0), "one reduction per group, at the end");
  }
}

// A method that isn't forward finds its parameters gathered, and gives them up again.
SIMMESH_TEST(FSDPModule, RunsItsHooksAroundOtherMethods, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 5));
  fully_shard(*model, {.reshard_after_forward = true});
  ForwardMethod twice =
      register_fsdp_forward_method(*model, "twice", [&](const nn::Tensors& inputs) -> nn::Tensors {
        return {mul(model->forward(inputs)[0], 2.0)};
      });
  nn::Tensors outputs = twice({module_input()});
  expect(model->parameters()[0].distribution() != nullptr, "shards after the call");
  backward(sum(outputs[0]));
}

}  // namespace
}  // namespace simmesh::fsdp
