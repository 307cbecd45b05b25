#include "sharding/dtensor/dtensor.h"

#include <gmock/gmock.h>

#include "collectives/process_group.h"
#include "core/autograd/backward.h"
#include "core/engine/world.h"
#include "core/tensor/convert.h"
#include "core/tensor/formula.h"
#include "mesh/default_mesh.h"
#include "sharding/redistribute/plan_cache.h"
#include "tests/expect_error.h"
#include "tests/sharding/serial_oracle.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

const Placements placement_kinds = {Shard(0), Shard(1), Replicate(), StridedShard(0, 2)};

Tensor numbers(DimSpan shape) {
  return oracle::local_index(shape, Dims{1}, Dims{0}, {{Replicate()}, {}});
}

Outcome run(std::size_t ranks, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks});
  return world.run(body);
}

// A piece cut at the wrong place, or put back there.
TEST(DTensor, FullTensorUndoesDistributeTensor) {
  Outcome outcome = run(6, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 3});
    for (const Shape& shape : {Shape{5, 3}, Shape{6, 4}, Shape{1, 1}, Shape{0, 3}, Shape{7, 5, 2}})
      for (const Placements& list : small_worlds::lists(2, placement_kinds)) {
        Tensor whole = numbers(shape);
        DTensor x = distribute_tensor(whole, mesh, list);
        rank.expect_same_bits(
            x.to_local(),
            oracle::local_index(shape, Dims{2, 3}, *mesh.get_coordinate(), {list, {}}));
        rank.expect_same_bits(x.full_tensor(), whole);
      }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// An op takes the place of one tensor for that of another, or its result is on the tape or has
// another piece than the op gave it.
TEST(DTensor, OpsReadAndMakeTensorsWithoutCopies) {
  Outcome outcome = run(2, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    DTensor x = distribute_tensor(zeros({4, 3}, DType::float32), mesh, {Shard(0)});
    DTensor alike = distribute_tensor(zeros({4, 3}, DType::float32), mesh, {Shard(0)});
    EXPECT_TRUE(x.lies_like(alike));
    EXPECT_EQ(x.place_hash(), alike.place_hash());
    EXPECT_NE(x.place_hash(), x.redistribute({Replicate()}).place_hash());
    EXPECT_NE(x.place_hash(),
              distribute_tensor(zeros({4, 4}, DType::float32), mesh, {Shard(0)}).place_hash());
    x.set_requires_grad();
    Tensor tensor = x;
    EXPECT_FALSE(DTensor::in(tensor).requires_grad());
    EXPECT_EQ(&DTensor::in(tensor).local(), &x.local());
    Tensor made = x.tensor_with_local(full({2, 3}, DType::float32, 5), Tensor());
    EXPECT_FALSE(made.requires_grad());
    EXPECT_TRUE(DTensor(made).lies_like(x));
    rank.expect_same_bits(DTensor(made).full_tensor(), full({4, 3}, DType::float32, 5));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Without the broadcast, ranks that hold different tensors would cut different ones.
TEST(DTensor, TheFirstRankSendsUnlessToldNotTo) {
  Outcome outcome = run(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    Tensor own = full({4}, DType::float32, double(rank.id()) + 1);
    Placements list = {Shard(0), Replicate()};
    rank.expect_same_bits(distribute_tensor(own, mesh, list).to_local(),
                          full({2}, DType::float32, 1));
    rank.expect_same_bits(distribute_tensor(own, mesh, list, {.from_first_rank = false}).to_local(),
                          own.narrow({0, 0, 2}).clone());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Sub-meshes are worlds of their own: columns must not mix their data.
TEST(DTensor, LivesOnSubMeshes) {
  Outcome outcome = run(8, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2, 2}, {"a", "b", "c"});
    for (const char* name : {"a", "b", "c"}) {
      DeviceMesh line = mesh[name];
      auto first = static_cast<double>(line.ranks()[0]);
      DTensor x = distribute_tensor(full({3, 2}, DType::float64, first), line, {Shard(0)});
      DTensor y = x.redistribute({Shard(1)});
      rank.expect_same_bits(y.full_tensor(), full({3, 2}, DType::float64, first));
    }
    DeviceMesh plane = mesh[{"a", "c"}];
    Tensor whole = numbers(Dims{5, 3});
    DTensor x = distribute_tensor(whole, plane, {Shard(0), Shard(0)});
    rank.expect_same_bits(x.redistribute({Shard(1), Replicate()}).full_tensor(), whole);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// Ranks outside the mesh go through the same program and hold nothing; the mesh may start anywhere
// and be in any order.
TEST(DTensor, RanksOutsideTheMeshHoldNothing) {
  Outcome outcome = run(8, [](Rank& rank) {
    MeshViewer viewer{.rank = rank.id(), .world_size = 8};
    DeviceMesh mesh = DeviceMesh::from_ranks(viewer, RankList::of({6, 3, 4}), {3});
    Tensor whole = numbers(Dims{5});
    DTensor x = distribute_tensor(whole, mesh, {Shard(0)}, {.from_first_rank = false});
    DTensor y = x.redistribute({StridedShard(0, 2)});
    Tensor back = y.full_tensor();
    if (mesh.get_coordinate()) {
      rank.expect_same_bits(
          x.to_local(),
          oracle::local_index(Dims{5}, Dims{3}, *mesh.get_coordinate(), {{Shard(0)}, {}}));
      rank.expect_same_bits(back, whole);
    } else {
      rank.expect_same_bits(x.to_local(), empty({0}, DType::int64));
      rank.expect_same_bits(back, empty({0}, DType::int64));
      EXPECT_EQ(rank.operations(), 0u);
    }
    EXPECT_EQ(y.shape(), (Shape{5}));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// The route that a tensor took last is kept. It must not be taken to another target, planner or
// order, past a mesh that was flattened since, or past a check that it didn't make.
TEST(DTensor, TheLastRouteIsTakenOnlyWhereItLeads) {
  Outcome outcome = run(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
    Tensor whole = numbers(Dims{6, 4});
    DTensor x = distribute_tensor(whole, mesh, {Shard(0), Shard(0)});
    for (int round = 0; round < 2; ++round)
      for (const Placements& to : small_worlds::lists(2, placement_kinds)) {
        DTensor y = x.redistribute(to), again = x.redistribute(to);
        EXPECT_EQ(y.placements(), to);
        EXPECT_EQ(again.placements(), to);
        rank.expect_same_bits(again.to_local(), y.to_local());
        rank.expect_same_bits(y.to_local(), oracle::local_index(Dims{6, 4}, Dims{2, 2},
                                                                *mesh.get_coordinate(), {to, {}}));
        rank.expect_same_bits(again.redistribute(x.placements()).to_local(), x.to_local());
      }
    Placements both = {Shard(0), Shard(0)};
    ShardOrder order = ShardOrder::of({{.tensor_dim = 0, .mesh_dims = {1, 0}}}, both);
    DTensor plain = x.redistribute({Replicate(), Replicate()}).redistribute(both);
    DTensor turned = x.redistribute(both, {.order = order});
    rank.expect_same_bits(plain.to_local(), x.to_local());
    EXPECT_EQ(turned.spec().sharding.order, order);

    x.redistribute({Replicate(), Replicate()});
    std::uint64_t before = rank.operations();
    x.redistribute({Replicate(), Replicate()});
    EXPECT_EQ(rank.operations() - before, 2u);
    mesh.flatten();
    before = rank.operations();
    rank.expect_same_bits(x.redistribute({Replicate(), Replicate()}).to_local(), whole);
    EXPECT_EQ(rank.operations() - before, 1u) << "the flattened mesh went unnoticed";

    DTensor copy =
        distribute_tensor(full({4}, DType::float32, 1), mesh, {Replicate(), Replicate()});
    Placements partial = {Partial(), Replicate()};
    copy.redistribute_local(partial);
    testing::expect_error([&] { copy.redistribute(partial); }, ErrorKind::runtime_error,
                          "only Shard to Partial(sum)");
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A tensor that stays alive while its results are redistributed on and on keeps few of their specs.
TEST(DTensor, RoutesAreKeptForAFewSteps) {
  Outcome outcome = run(2, [](Rank& rank) {
    DTensor x = distribute_tensor(numbers(Dims{2}), init_device_mesh({2}), {Shard(0)});
    DTensor y = x;
    for (int i = 0; i < 20'000; ++i)
      y = y.redistribute({y.placements()[0].is_shard() ? Replicate() : Shard(0)});
    rank.expect_same_bits(y.to_local(), x.to_local());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A plan that is shown but not taken would tell a reader something else than what happened.
TEST(DTensor, ShowsThePlanByWhichItGoes) {
  Outcome outcome = run(4, [](Rank& rank) {
    DTensor x =
        distribute_tensor(numbers(Dims{8, 6}), init_device_mesh({2, 2}), {Shard(0), Shard(0)});
    const Placements to = {Replicate(), Shard(1)};
    x.redistribute(to);
    std::uint64_t made = rank.world().state<PlanCache>().misses();
    std::shared_ptr<const Plan> plan = x.redistribute_plan(to);
    EXPECT_EQ(plan, x.redistribute_plan(to));
    EXPECT_EQ(rank.world().state<PlanCache>().misses(), made);
    EXPECT_EQ(*plan, make_plan({.shape = {8, 6},
                                .dtype = x.dtype(),
                                .mesh_shape = {2, 2},
                                .from = x.placements(),
                                .to = to}));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A call without a mesh is on the innermost MeshScope's, and an error where there is none.
TEST(DTensor, MayLeaveOutTheDefaultMesh) {
  Outcome outcome = run(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
    Tensor whole = numbers(Dims{6, 4});
    testing::expect_error([&] { distribute_tensor(whole, {Shard(0)}); }, ErrorKind::runtime_error,
                          "No device mesh is currently active");
    testing::expect_error([&] { from_local(whole, {Shard(0)}); }, ErrorKind::runtime_error,
                          "No device mesh is currently active");
    MeshScope scope(mesh);
    DTensor x = distribute_tensor(whole, {Shard(0), Shard(1)}, {.from_first_rank = false});
    EXPECT_EQ(x.mesh(), mesh);
    rank.expect_same_bits(x.full_tensor(), whole);
    MeshScope inner(mesh["b"]);
    DTensor y = from_local(x.to_local(), {Shard(1)}, {.shape = Shape{3, 4}});
    EXPECT_EQ(y.mesh(), mesh["b"]);
    EXPECT_EQ(y.shape(), (Shape{3, 4}));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// An asynchronous redistribution that is used before it is done, or dropped.
TEST(DTensor, AsyncGivesTheSameBits) {
  Outcome outcome = run(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    for (const Placements& from : small_worlds::lists(2, placement_kinds))
      for (const Placements& to : small_worlds::lists(2, placement_kinds)) {
        DTensor x = distribute_tensor(numbers(Dims{5, 3}), mesh, from);
        DTensor now = x.redistribute(to), later = x.redistribute(to, {.is_async = true});
        rank.expect_same_bits(later.to_local(), now.to_local());
        DTensor chained = x.redistribute(to, {.is_async = true}).redistribute(from);
        rank.expect_same_bits(chained.to_local(), x.to_local());
        x.redistribute(to, {.is_async = true});
      }
    DTensor sum = from_local(numbers(Dims{3, 3}), mesh, {Partial(), Partial()});
    for (const Placements& to : small_worlds::lists(2, placement_kinds))
      rank.expect_same_bits(sum.redistribute(to, {.is_async = true}).to_local(),
                            sum.redistribute(to).to_local());
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A plan for nothing must cost nothing.
TEST(DTensor, RedistributeToItselfIssuesNoCollective) {
  Outcome outcome = run(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    for (const Placements& list : small_worlds::lists(2, placement_kinds)) {
      DTensor x = distribute_tensor(numbers(Dims{5, 3}), mesh, list);
      auto before = rank.operations();
      DTensor y = x.redistribute(list);
      EXPECT_EQ(rank.operations(), before) << to_string(PlacementSpan(list));
      EXPECT_EQ(y.to_local().storage(), x.to_local().storage());
    }
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

// A shape inferred from uneven pieces is wrong on every rank, silently.
TEST(DTensor, FromLocalRefusesUnevenPiecesWithoutAShape) {
  auto uneven = [](const FromLocalOptions& options) {
    return run(3, [=](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({3});
      from_local(zeros({rank.id() == 2 ? 1 : 2}, DType::float32), mesh, {Shard(0)}, options);
    });
  };
  Outcome refused = uneven({});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure->message,
              HasSubstr("rank 0 infers int64[1, 1] {6}, rank 2 infers int64[1, 1] {3}"));
  testing::expect_error([&] { refused.rethrow(); }, ErrorKind::value_error, "uneven pieces");
  EXPECT_TRUE(uneven({.shape = Shape{5}}).ok());
  testing::expect_error([&] { uneven({.shape = Shape{6}}).rethrow(); }, ErrorKind::value_error,
                        "rank 2: expected a piece of shape [2]");
}

// Refusals come with PyTorch's classes, before any collective.
TEST(DTensor, RefusesWhatCannotBe) {
  auto raised = [](const std::function<void(const DeviceMesh&)>& body) {
    Outcome outcome = run(2, [&](Rank&) { body(init_device_mesh({2})); });
    EXPECT_EQ(outcome.failure->kind, Failure::Kind::error);
    return outcome;
  };
  Tensor whole = zeros({4}, DType::float32);
  auto distribute = [&](const Placements& list) {
    return [&whole, list](const DeviceMesh& mesh) { distribute_tensor(whole, mesh, list); };
  };
  testing::expect_error([&] { raised(distribute({Partial()})).rethrow(); }, ErrorKind::value_error,
                        "no Partial placements, got P(sum)");
  testing::expect_error([&] { raised(distribute({Shard(1)})).rethrow(); }, ErrorKind::index_error,
                        "");
  testing::expect_error(
      [&] {
        raised(distribute({Shard(0), Shard(0)})).rethrow();
      },
      ErrorKind::value_error, "one placement a mesh dim");
  auto to_partial = [&](const DeviceMesh& mesh) {
    distribute_tensor(whole, mesh, {Replicate()}).redistribute({Partial()});
  };
  testing::expect_error([&] { raised(to_partial).rethrow(); }, ErrorKind::runtime_error, "");
}

// Data that depends on who comes first.
TEST(DTensor, ScheduleAndThreadsChangeNoBit) {
  std::optional<std::uint64_t> hash;
  for (const char* schedule : {"fifo", "seeded:1", "seeded:2", "pct:3"})
    for (std::size_t threads : {1u, 2u}) {
      World world({.ranks = 6, .schedule = Schedule::parse(schedule), .threads = threads});
      Outcome outcome = world.run([](Rank& rank) {
        DeviceMesh mesh = init_device_mesh({2, 3});
        Formula data{.seed = 7 + rank.id()};
        DTensor sum = from_local(formula({5, 4}, data), mesh, {Partial(), Partial()});
        for (const Placements& from : small_worlds::lists(2, placement_kinds)) {
          DTensor x = sum.redistribute(from);
          for (const Placements& to : small_worlds::lists(2, placement_kinds))
            rank.record(x.redistribute(to, {.is_async = true}).to_local());
        }
      });
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      EXPECT_EQ(outcome.live_storages, 0);
      if (!hash) hash = outcome.data_hash;
      EXPECT_EQ(outcome.data_hash, *hash) << schedule << ", threads " << threads;
    }
}

// Parts that are converted to 16 bits before they are added up; added up first they would
// make 3.015625.
SIMMESH_TEST(DTensor, ConvertsBeforeItMoves, {.mesh = {3}, .schedules = 4}) {
  Tensor part = full({3}, DType::float32, 1.0037);
  DTensor partial = from_local(part, mesh, {Partial()});
  DTensor whole = partial.redistribute({Replicate()}, {.forward_dtype = DType::bfloat16});
  EXPECT_EQ(whole.dtype(), DType::bfloat16);
  EXPECT_SAME_BITS(whole.full_tensor(), full({3}, DType::bfloat16, 3));
  Tensor later = converted(partial.full_tensor(), DType::bfloat16);
  EXPECT_SAME_BITS(later, full({3}, DType::bfloat16, 3.015625));
  DTensor same = partial.redistribute({Partial()}, {.forward_dtype = DType::bfloat16});
  EXPECT_SAME_BITS(same.local(), converted(part, DType::bfloat16));
}

// A gradient moves in its own dtype, not in that of the way there, and arrives in the tensor's.
SIMMESH_TEST(DTensor, ConvertsGradientsBeforeTheyMoveBack, {.mesh = {3}, .schedules = 4}) {
  auto gradient_with = [&](const RedistributeOptions& options) {
    DTensor x = distribute_tensor(full({3}, DType::float32, 1), mesh, {Shard(0)});
    x.set_requires_grad();
    DTensor y = x.redistribute({Replicate()}, options);
    Tensor part = full({3}, y.dtype(), 1.0037);
    backward(y, {.gradients = {from_local(part, mesh, {Partial()}).as_tensor()}});
    EXPECT_EQ(to_string(x.grad()->placements()), "S(0)");
    EXPECT_EQ(x.grad()->dtype(), DType::float32);
    return x.grad()->full_tensor();
  };
  Tensor three = full({3}, DType::float32, 3), part = full({3}, DType::float32, 1.0037);
  Tensor sum_of_parts = from_local(part, mesh, {Partial()}).full_tensor();
  EXPECT_SAME_BITS(gradient_with({}), sum_of_parts);
  EXPECT_SAME_BITS(gradient_with({.backward_dtype = DType::bfloat16}), three);
  EXPECT_SAME_BITS(gradient_with({.forward_dtype = DType::float64}), sum_of_parts);
  EXPECT_SAME_BITS(
      gradient_with({.forward_dtype = DType::bfloat16, .backward_dtype = DType::float32}),
      three);  // each part is a bfloat16, and so is their sum
}

}  // namespace
}  // namespace simmesh
