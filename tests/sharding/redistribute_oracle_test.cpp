#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <string>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/sharding/serial_oracle.h"
#include "tests/sharding/small_worlds.h"

// Every pair of shardings of small meshes against the serial oracle: an element is its global
// index, so one that is lost, doubled or misplaced shows.
namespace simmesh {
namespace {

struct Sweep {
  Dims mesh;
  std::vector<Sharding> shardings;
  std::vector<Shape> shapes;
  std::size_t every = 1;  // of the pairs only each so-manieth
  std::string first = {};
  std::int64_t pairs = 0;
  std::int64_t wrong = 0;
};

// Under a sanitizer, which takes ten times as long, one pair of so many.
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
constexpr std::size_t one_of = 13;
#else
constexpr std::size_t one_of = 1;
#endif

const Placement r = Replicate();
const Placements row_kinds = {Shard(0), r};
const Placements strided_rows = {Shard(0), r, StridedShard(0, 2), StridedShard(0, 3)};
const Placements planes = {Shard(0), Shard(1), r};
const Placements strided_planes = {Shard(0),           Shard(1),           r,
                                   StridedShard(0, 2), StridedShard(0, 3), StridedShard(1, 2),
                                   StridedShard(1, 3)};

std::vector<Sharding> all_lists(std::size_t mesh_dims, const Placements& alphabet) {
  std::vector<Sharding> result;
  for (const Placements& list : small_worlds::lists(mesh_dims, alphabet))
    result.push_back({list, {}});
  return result;
}

std::vector<Shape> sizes_1d() {
  std::vector<Shape> shapes(18);
  for (std::int64_t n = 0; n <= 17; ++n) shapes[std::size_t(n)].push_back(n);
  return shapes;
}

std::vector<Shape> sizes_2d(std::initializer_list<std::int64_t> columns) {
  std::vector<Shape> shapes;
  for (const Shape& rows_only : sizes_1d()) {
    for (std::int64_t m : columns) {
      shapes.push_back(rows_only);
      shapes.back().push_back(m);
    }
  }
  return shapes;
}

struct RankCount {
  std::int64_t pairs = 0;
  std::int64_t wrong = 0;
  std::string first;
};

void run_shape(Sweep& sweep, const Shape& shape, const std::shared_ptr<MeshGroups>& groups,
               RankCount& count) {
  std::vector<DTensor> sources;
  std::vector<Tensor> expected;
  for (const Sharding& sharding : sweep.shardings) {
    expected.push_back(oracle::local_index(shape, sweep.mesh, groups->coordinate(), sharding));
    DTensorSpec spec{.groups = groups, .sharding = sharding, .shape = shape, .dtype = DType::int64};
    sources.emplace_back(spec, expected.back());
  }
  std::size_t number = 0;
  for (std::size_t from = 0; from < sources.size(); ++from) {
    for (std::size_t to = 0; to < sources.size(); ++to) {
      if (number++ % (sweep.every * one_of) != 0) continue;
      const Sharding& target = sweep.shardings[to];
      Tensor moved =
          sources[from].redistribute(target.placements, {.order = target.order}).to_local();
      ++count.pairs;
      if (same_bits(moved, expected[to])) continue;
      if (count.wrong++ == 0)
        count.first =
            fmt::format("{} to {} of {} at {}: expected {}, got {}",
                        to_string(sweep.shardings[from]), to_string(target), to_string(shape),
                        to_string(groups->coordinate()), to_string(expected[to]), to_string(moved));
    }
  }
}

// Runs all pairs in one World: making Worlds would cost more than the redistributions.
void run(Sweep& sweep) {
  auto ranks = std::size_t(numel(sweep.mesh));
  std::vector<RankCount> counts(ranks);
  World world({.ranks = ranks});
  Outcome outcome = world.run([&](Rank& rank) {
    auto groups = std::make_shared<MeshGroups>(init_device_mesh(sweep.mesh));
    for (const Shape& shape : sweep.shapes) run_shape(sweep, shape, groups, counts[rank.id()]);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  for (const RankCount& count : counts) {
    EXPECT_EQ(count.pairs, counts[0].pairs);
    sweep.wrong += count.wrong;
    if (sweep.first.empty()) sweep.first = count.first;
  }
  sweep.pairs = counts[0].pairs;
  EXPECT_EQ(sweep.wrong, 0) << to_string(sweep.mesh) << ": " << sweep.first;
}

// total counts the (pair, size) redistributions of all tests of this file.
std::int64_t total(std::int64_t more) {
  static std::int64_t sum = 0;
  sum += more;
  return sum;
}

void run_all(std::vector<Sweep> sweeps) {
  std::int64_t pairs = 0;
  for (Sweep& sweep : sweeps) {
    run(sweep);
    pairs += sweep.pairs;
  }
  ::testing::Test::RecordProperty("redistributions", std::to_string(pairs));
  fmt::print("{} redistributions, {} in all\n", pairs, total(pairs));
}

// A wrong chunk boundary, an empty piece that is forgotten.
TEST(RedistributeOracle, OneMeshDim) {
  std::vector<Sweep> sweeps;
  for (std::int64_t n = 1; n <= 8; ++n) {
    sweeps.push_back({.mesh = {n}, .shardings = all_lists(1, strided_rows), .shapes = sizes_1d()});
    sweeps.push_back({.mesh = {n},
                      .shardings = all_lists(1, strided_planes),
                      .shapes = sizes_2d({0, 1, 2, 3, 4, 5, 7, 8, 9, 16})});
  }
  run_all(std::move(sweeps));
}

// Nested shards of one tensor dim, strided or not, that a plan takes apart in the wrong order.
TEST(RedistributeOracle, TwoMeshDims) {
  run_all({{.mesh = {2, 2}, .shardings = all_lists(2, strided_rows), .shapes = sizes_1d()},
           {.mesh = {2, 3}, .shardings = all_lists(2, strided_rows), .shapes = sizes_1d()},
           {.mesh = {2, 2},
            .shardings = all_lists(2, strided_planes),
            .shapes = sizes_2d({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13})},
           {.mesh = {2, 3},
            .shardings = all_lists(2, strided_planes),
            .shapes = sizes_2d({1, 2, 4, 5, 6, 9, 13})}});
}

// Plans of many steps. Plain shards are exhaustive, strided ones of matrices are a sample.
TEST(RedistributeOracle, ThreeMeshDims) {
  run_all({{.mesh = {2, 2, 2}, .shardings = all_lists(3, row_kinds), .shapes = sizes_1d()},
           {.mesh = {2, 2, 2}, .shardings = all_lists(3, planes), .shapes = sizes_2d({3, 5, 8})},
           {.mesh = {2, 2, 2}, .shardings = all_lists(3, strided_rows), .shapes = sizes_1d()},
           {.mesh = {2, 2, 2},
            .shardings = all_lists(3, strided_planes),
            .shapes = sizes_2d({5}),
            .every = 11}});
}

// A shard order that the plan or the run loses.
TEST(RedistributeOracle, ShardOrders) {
  run_all({{.mesh = {2, 3},
            .shardings = small_worlds::shardings(2, planes),
            .shapes = sizes_2d({1, 5})},
           {.mesh = {2, 2, 2},
            .shardings = small_worlds::shardings(3, row_kinds),
            .shapes = sizes_1d()},
           {.mesh = {2, 2, 2},
            .shardings = small_worlds::shardings(3, planes),
            .shapes = {{7, 5}, {8, 8}, {1, 17}}}});
}

}  // namespace
}  // namespace simmesh
