#include "sharding/api/dtensor_factories.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/every_schedule.h"
#include "tests/sharding/small_worlds.h"

namespace simmesh {
namespace {

const Placements alphabet{
    Replicate(),           Shard(0), Shard(1), StridedShard(0, 2), Partial(ReduceOp::avg),
    Partial(ReduceOp::max)};

bool mixes(const Placements& list) {
  return list[0].is_partial() && list[1].is_partial() && !(list[0] == list[1]);
}

// A piece holds numbers of another place, or those of its rank.
TEST(DTensorFactories, PiecesHoldWhatTheWholeTensorHolds) {
  run_every_schedule(4, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2, 2});
    for (const Shape& shape : {Shape{7, 3}, Shape{1, 4}, Shape{0, 2}})
      for (const Placements& list : small_worlds::lists(2, alphabet)) {
        if (mixes(list)) continue;
        auto expect = [&](const DTensor& made, const Tensor& whole) {
          EXPECT_EQ(list, made.placements());
          EXPECT_EQ(made.spec().local_shape(), made.local().shape());
          rank.expect_same_bits(made.full_tensor(), whole);
        };
        Generator generator{.seed = 3, .stream = 2};
        bool averages = std::count(list.begin(), list.end(), Partial(ReduceOp::avg)) > 0;
        DType dtype = averages ? DType::float64 : DType::int64;
        expect(zeros(shape, dtype, mesh, list), zeros(shape, dtype));
        expect(ones(shape, DType::float32, mesh, list), ones(shape, DType::float32));
        expect(full(shape, DType::float64, -2.5, mesh, list), full(shape, DType::float64, -2.5));
        expect(rand(shape, generator, {}, mesh, list), rand(shape, generator));
        expect(randn(shape, generator, {.dtype = DType::bfloat16}, mesh, list),
               randn(shape, generator, {.dtype = DType::bfloat16}));
      }
  });
}

// A draw of a part of a larger tensor loses its place in that.
TEST(DTensorFactories, DrawAPartOfALargerTensorAtItsPlace) {
  run_every_schedule(2, [](Rank& rank) {
    RandomOptions options{.shard = {{9, 4}, {2, 1}}};
    Tensor whole = rand({5, 3}, {.seed = 1}, options);
    DTensor made =
        rand(Shape{5, 3}, {.seed = 1}, options, init_device_mesh({2}), {StridedShard(0, 2)});
    rank.expect_same_bits(made.full_tensor(), whole);
  });
}

TEST(DTensorFactories, RangesArePiecesOfTheWholeRange) {
  run_every_schedule(3, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({3});
    for (std::int64_t steps : {0, 1, 2, 10})
      for (const Placement& placement : {Replicate(), Shard(0), StridedShard(0, 2)}) {
        Linspace line{.start = 0.1, .end = 2, .steps = steps};
        rank.expect_same_bits(linspace(line, DType::float32, mesh, {placement}).full_tensor(),
                              linspace(line));
        Logspace powers{.start = -1, .end = 2, .steps = steps, .base = 3};
        rank.expect_same_bits(logspace(powers, DType::float64, mesh, {placement}).full_tensor(),
                              logspace(powers, DType::float64));
      }
  });
}

// PyTorch's ranks compute ranges of their own: the same points for whole steps, other bits between.
TEST(DTensorFactories, RangesOfTheirOwnStartAtTheFirstPointOfThePiece) {
  run_every_schedule(3, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({3});
    Linspace line{.start = -4, .end = 5, .steps = 10};
    DTensor made = linspace(line, DType::float32, mesh, {Shard(0)}, PointsOf::own_range);
    rank.expect_same_bits(made.full_tensor(), linspace(line));
    Linspace fine{.start = 0, .end = 1, .steps = 11};
    double step = 0.1, start = 4 * step;
    DTensor own = linspace(fine, DType::float64, mesh, {Shard(0)}, PointsOf::own_range);
    if (rank.id() == 1)
      rank.expect_same_bits(own.local(), linspace({start, start + step * 3, 4}, DType::float64));
    EXPECT_THROW(linspace(fine, DType::float32, mesh, {StridedShard(0, 2)}, PointsOf::own_range),
                 Error);
  });
}

// A value counts once a rank.
TEST(DTensorFactories, RefusePlacementsThatChangeTheValue) {
  run_every_schedule(2, [](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({2});
    Placements sum{Partial(ReduceOp::sum)}, product{Partial(ReduceOp::product)};
    rank.expect_same_bits(zeros(Shape{3}, DType::int32, mesh, sum).full_tensor(),
                          zeros({3}, DType::int32));
    EXPECT_THROW(ones(Shape{3}, DType::int32, mesh, sum), Error);
    EXPECT_THROW(ones(Shape{3}, DType::int32, mesh, {Partial(ReduceOp::avg)}), Error);
    EXPECT_THROW(rand(Shape{3}, {}, {}, mesh, sum), Error);
    EXPECT_THROW(zeros(Shape{3}, DType::int32, mesh, product), Error);
    EXPECT_THROW(zeros(Shape{3}, DType::int32, mesh, {}), Error);
  });
}

// A rank outside the mesh holds nothing and waits for nobody.
TEST(DTensorFactories, RanksOutsideTheMeshHoldNothing) {
  run_every_schedule(3, [](Rank& rank) {
    MeshViewer viewer{.rank = rank.id(), .world_size = 3};
    DeviceMesh mesh = DeviceMesh::from_ranks(viewer, RankList::of({0, 1}), {2});
    DTensor made = rand(Shape{4}, {.seed = 2}, {}, mesh, {Shard(0)});
    EXPECT_EQ(rank.id() == 2 ? Shape{0} : Shape{2}, made.local().shape());
    EXPECT_EQ(made.local().shape(), ones(Shape{4}, DType::int64, mesh, {Shard(0)}).local().shape());
  });
}

}  // namespace
}  // namespace simmesh
