#include "mesh/device_mesh.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <numeric>

#include "core/check/error.h"
#include "core/engine/world.h"
#include "mesh/rank_list.h"
#include "tests/expect_error.h"
#include "tests/mesh/enumerate_meshes.h"

namespace simmesh {
namespace {

using testing::coordinate_of_index;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::error_of;
using testing::expect_error;
using testing::NestedArray;
using testing::shapes_up_to;

// The ranks of a mesh of `count` ranks in four arrangements; the last two leave ranks of the world
// out.
std::vector<std::vector<std::int64_t>> arrangements(std::int64_t count) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<std::int64_t> backwards(ranks.rbegin(), ranks.rend());
  std::vector<std::int64_t> shifted = ranks, mixed = ranks;
  for (std::int64_t& rank : shifted) rank += 2;
  for (std::int64_t& rank : mixed) rank = (rank * 7 + 3) % 29;
  return {ranks, backwards, shifted, mixed};
}

constexpr std::int64_t world_size = 30;

// Every mesh of up to 4 dims and 24 ranks, as every rank of the world sees it: coordinates, groups
// and ranks must be those of a nested array, and a rank outside must have none.
TEST(DeviceMesh, AgreesWithNestedArrays) {
  for (const Shape& shape : shapes_up_to(4, 24))
    for (const std::vector<std::int64_t>& ranks : arrangements(numel(shape))) {
      NestedArray array{shape, ranks};
      RankList list = RankList::of(ranks);
      for (std::int64_t rank = 0; rank < world_size; ++rank) {
        DeviceMesh mesh = DeviceMesh::from_ranks({rank, world_size}, list, shape);
        ASSERT_EQ(mesh.shape(), shape);
        ASSERT_EQ(mesh.size(), numel(shape));
        ASSERT_THAT(mesh.ranks().to_vector(), ElementsAreArray(ranks));
        auto found = std::find(ranks.begin(), ranks.end(), rank);
        ASSERT_EQ(mesh.get_coordinate().has_value(), found != ranks.end());
        if (found == ranks.end()) continue;
        Dims coordinate = coordinate_of_index(found - ranks.begin(), shape);
        ASSERT_EQ(*mesh.get_coordinate(), coordinate);
        for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim) {
          RankList group = mesh.get_group_ranks(dim);
          ASSERT_THAT(group.to_vector(), ElementsAreArray(array.slice(coordinate, Dims{dim})));
          ASSERT_EQ(group.index_of(rank), mesh.get_local_rank(dim));
          ASSERT_EQ(mesh.get_local_rank(dim), coordinate[static_cast<std::size_t>(dim)]);
        }
      }
    }
}

// The groups of one dim must hold each rank of the mesh once, and all members must agree on their
// group.
TEST(DeviceMesh, GroupsPartitionTheMesh) {
  for (const Shape& shape : shapes_up_to(3, 12))
    for (const std::vector<std::int64_t>& ranks : arrangements(numel(shape)))
      for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        std::vector<RankList> groups;
        for (std::int64_t rank : ranks) {
          RankList group = DeviceMesh::from_ranks({rank, world_size}, RankList::of(ranks), shape)
                               .get_group_ranks(dim);
          if (std::find(groups.begin(), groups.end(), group) == groups.end())
            groups.push_back(group);
        }
        std::vector<std::int64_t> members;
        for (const RankList& group : groups)
          for (std::int64_t rank : group.to_vector()) members.push_back(rank);
        std::sort(members.begin(), members.end());
        std::vector<std::int64_t> sorted = ranks;
        std::sort(sorted.begin(), sorted.end());
        ASSERT_EQ(members, sorted);
      }
}

// Groups follow the coordinates, also on a permuted mesh: were they sorted, gathered pieces would
// change places.
TEST(DeviceMesh, GroupsOfPermutedMeshesFollowCoordinates) {
  DeviceMesh mesh = DeviceMesh::from_ranks({0, 4}, RankList::of({1, 0, 3, 2}), {2, 2});
  EXPECT_THAT(*mesh.get_coordinate(), ElementsAre(0, 1));
  EXPECT_EQ(mesh.get_group_ranks(1), RankList::of({1, 0}));
  EXPECT_EQ(mesh.get_group_ranks(0), RankList::of({0, 2}));
  EXPECT_EQ(mesh.get_local_rank(1), 1);
}

TEST(DeviceMesh, WithoutDimsItsRankIsAMember) {
  DeviceMesh mesh = DeviceMesh::init({0, 2}, {});
  ASSERT_TRUE(mesh.get_coordinate());
  EXPECT_TRUE(mesh.get_coordinate()->empty());
  EXPECT_EQ(mesh.ranks(), RankList::of({0}));
  EXPECT_FALSE(DeviceMesh::init({1, 2}, {}).get_coordinate());
  expect_error([&] { mesh.get_local_rank(); }, ErrorKind::index_error, "out of range");
}

TEST(DeviceMesh, OutsideRanksSeeTheWholeOnly) {
  DeviceMesh mesh = DeviceMesh::init({6, 8}, {2, 2}, {"dp", "tp"});
  EXPECT_FALSE(mesh.get_coordinate());
  EXPECT_EQ(mesh.ranks(), RankList::range(4));
  EXPECT_FALSE(mesh["tp"].get_coordinate());
  EXPECT_EQ(mesh["tp"].shape(), Shape{2});
  EXPECT_EQ(mesh.flatten().ranks(), RankList::range(4));
  expect_error([&] { mesh["tp"].ranks(); }, ErrorKind::runtime_error, "got rank 6");
  expect_error([&] { mesh.get_local_rank(0); }, ErrorKind::runtime_error, "got rank 6");
  expect_error([&] { mesh.get_group_ranks("dp"); }, ErrorKind::runtime_error, "got rank 6");
}

TEST(DeviceMesh, FromGroupsArrangesGroups) {
  RankList column = RankList::of({1, 3}), row = RankList::of({2, 3});
  DeviceMesh line = DeviceMesh::from_group({3, 4}, column, "tp", RankList::of({1, 3}));
  EXPECT_THAT(*line.get_coordinate(), ElementsAre(1));
  EXPECT_EQ(line.get_group_ranks(), column);
  std::vector<RankList> groups{column, row};
  DeviceMesh::GroupArrangement whole{
      .ranks = RankList::range(4), .shape = {2, 2}, .names = {"dp", "tp"}};
  DeviceMesh mesh = DeviceMesh::from_groups({3, 4}, groups, whole);
  EXPECT_EQ(mesh, DeviceMesh::init({3, 4}, {2, 2}, {"dp", "tp"}));

  ErrorKind value = ErrorKind::value_error;
  expect_error([&] { DeviceMesh::from_group({3, 4}, column, "tp", row); }, value, "Invalid mesh");
  auto refuse = [&](const std::vector<RankList>& given, DeviceMesh::GroupArrangement how,
                    std::string_view phrase) {
    expect_error([&] { DeviceMesh::from_groups({3, 4}, given, how); }, value, phrase);
  };
  refuse({}, whole, "Expects at least one ProcessGroup");
  refuse(groups, {.shape = {2, 2}, .names = {"dp", "tp"}}, "Must pass mesh if");
  refuse(groups, {.ranks = RankList::range(4), .shape = {2, 2}}, "Must pass mesh_dim_names");
  refuse({column}, whole, "Expects mesh with ndim equal");
  refuse({row, column}, whole, "Invalid mesh");
}

TEST(DeviceMesh, RefusesWhatIsNoMesh) {
  MeshViewer viewer{0, 4};
  ErrorKind value = ErrorKind::value_error, runtime = ErrorKind::runtime_error;
  auto init = [&](const Shape& shape, const DimNames& names = {}) {
    return [=] { DeviceMesh::init(viewer, shape, names); };
  };
  expect_error(init({2, 2}, {"dp", "dp"}), runtime, "Each mesh_dim_name must be unique");
  expect_error(init({2, 2}, {"dp", "dp", "dp"}), runtime, "Each mesh_dim_name must be unique");
  expect_error(init({2, 2}, "dp"), runtime,
               "mesh_shape and mesh_dim_names should have same length");
  expect_error(init({4, 4}), runtime, "Mesh should not be bigger than default world size 4");
  expect_error(init({2, 0}), value, "size 1 or more");
  expect_error(init({-2, -2}), value, "size 1 or more");
  expect_error(init({std::int64_t{1} << 40, std::int64_t{1} << 40}), value, "fewer than 2^63");
  expect_error(init(Shape(33, 1)), value, "at most 32 mesh dims");
  expect_error([] { DeviceMesh::init({4, 4}, {2}); }, value, "got rank 4 of a world of 4");
  auto ranks = [&](const RankList& list, const Shape& shape) {
    return [=] { DeviceMesh::from_ranks(viewer, list, shape); };
  };
  expect_error(ranks(RankList::of({0, 4}), {2}), value, "within the world_size");
  expect_error(ranks(RankList::range(3), {2, 2}), value, "expected 4 ranks");
  expect_error(ranks(RankList::range(5), {5}), runtime, "bigger than default world size");
  expect_error(ranks(RankList(), {1}), value, "expected 1 ranks");
}

TEST(DeviceMesh, RefusesUnknownDims) {
  DeviceMesh mesh = DeviceMesh::init({0, 4}, {2, 2}, {"dp", "tp"});
  EXPECT_EQ(mesh.size("tp"), 2);
  EXPECT_EQ(mesh.size(-1), 2);
  expect_error([&] { mesh.size(2); }, ErrorKind::index_error, "tuple index out of range");
  expect_error([&] { mesh.size(-3); }, ErrorKind::index_error, "tuple index out of range");
  expect_error([&] { mesh.get_group_ranks("xx"); }, ErrorKind::key_error, "does not exist");
  expect_error([&] { mesh.get_local_rank("xx"); }, ErrorKind::key_error, "does not exist");
  std::string_view left_out = "Optional kwarg `mesh_dim` needs to be specified";
  expect_error([&] { mesh.get_group_ranks(); }, ErrorKind::runtime_error, left_out);
  expect_error([&] { mesh.get_local_rank(); }, ErrorKind::runtime_error, left_out);
  DeviceMesh unnamed = DeviceMesh::init({0, 4}, {2, 2});
  expect_error([&] { unnamed.size("tp"); }, ErrorKind::key_error, "No `mesh_dim_names` found");
}

// Equality and hash must not depend on how the ranks are described, nor on who looks.
TEST(DeviceMesh, EqualMeshesAreOne) {
  DeviceMesh mesh = DeviceMesh::init({0, 6}, {2, 3}, {"dp", "tp"});
  DeviceMesh listed =
      DeviceMesh::from_ranks({4, 6}, RankList::of({0, 1, 2, 3, 4, 5}), {2, 3}, {"dp", "tp"});
  EXPECT_EQ(mesh, listed);
  EXPECT_EQ(std::hash<DeviceMesh>()(mesh), std::hash<DeviceMesh>()(listed));
  EXPECT_EQ(mesh["tp"], listed["tp"]);
  EXPECT_NE(mesh["tp"], mesh["dp"]);
  EXPECT_NE(mesh, DeviceMesh::init({0, 6}, {2, 3}, {"dp", "cp"}));
  EXPECT_NE(mesh, DeviceMesh::init({0, 6}, {2, 3}));
  EXPECT_NE(mesh, DeviceMesh::init({0, 6}, {3, 2}, {"dp", "tp"}));
}

TEST(DeviceMesh, TextShowsDimsAndRanks) {
  DeviceMesh mesh = DeviceMesh::init({5, 8}, {2, 2}, {"dp", "tp"});
  EXPECT_EQ(to_string(mesh), "DeviceMesh((dp=2, tp=2), ranks [0, 1, 2, 3])");
  EXPECT_EQ(to_string(mesh["tp"]), "DeviceMesh((tp=2), ranks out of [0, 1, 2, 3])");
  EXPECT_EQ(to_string(DeviceMesh::init({0, 4}, {2, 2})), "DeviceMesh((2, 2), ranks [0, 1, 2, 3])");
}

// One rank's view of a world of a million must not cost a walk over the world: a hundred thousand
// of them, each with slices and groups, would then take days instead of a second.
TEST(DeviceMesh, MillionRanksCostNoWalk) {
  std::int64_t sum = 0;
  for (std::int64_t viewer = 0; viewer < 1'000'000; viewer += 10) {
    DeviceMesh mesh = DeviceMesh::init({viewer, 1'000'000}, {1000, 1000}, {"dp", "tp"});
    RankList row = mesh.get_group_ranks("tp"), column = mesh["dp"].get_group_ranks();
    ASSERT_TRUE(row.regular() && column.regular());
    ASSERT_EQ(row[viewer % 1000], viewer);
    ASSERT_EQ(column.index_of(viewer), viewer / 1000);
    sum += mesh.flatten().get_local_rank();
  }
  EXPECT_EQ(sum, std::int64_t{100'000} * (1'000'000 - 10) / 2);
}

// Makes a mesh with the option under a release, and returns whether that is refused, and with what.
std::string with_rank_order(Release release) {
  std::string text;
  World world({.ranks = 1, .release = release});
  Outcome outcome = world.run([&](Rank&) {
    auto refusal = error_of([] {
      DeviceMesh::from_ranks({.rank = 0, .world_size = 2}, RankList::of({1, 0}), {2}, {"dp"},
                             {.preserve_rank_order = true});
    });
    text = refusal ? std::string(to_string(refusal->kind())) : "a mesh";
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

TEST(ReleaseChanges, PreserveRankOrder) {
  EXPECT_EQ(with_rank_order(Release::v2_13), "TypeError");
  EXPECT_EQ(with_rank_order(Release::v2_15), "a mesh");
}

// A mesh with the option must not equal one without, and no cut of it loses the option.
TEST(DeviceMesh, RankOrderIsInherited) {
  MeshViewer viewer{.rank = 1, .world_size = 4};
  RankList ranks = RankList::of({3, 1, 0, 2});
  DeviceMesh plain = DeviceMesh::from_ranks(viewer, ranks, {2, 2}, {"dp", "tp"});
  DeviceMesh ordered =
      DeviceMesh::from_ranks(viewer, ranks, {2, 2}, {"dp", "tp"}, {.preserve_rank_order = true});
  EXPECT_NE(plain, ordered);
  EXPECT_NE(plain.hash(), ordered.hash());
  EXPECT_NE(plain["tp"], ordered["tp"]);
  EXPECT_FALSE(plain["tp"].preserve_rank_order());
  EXPECT_TRUE(ordered["tp"].preserve_rank_order());
  EXPECT_TRUE(ordered.flatten().preserve_rank_order());
  EXPECT_TRUE(ordered.flatten().unflatten(0, {2, 2}, {"a", "b"}).preserve_rank_order());
  EXPECT_TRUE(DeviceMesh::concatenate({ordered["dp"], ordered["tp"]}).preserve_rank_order());
  EXPECT_TRUE(ordered.get_all_submeshes("dp")[0].preserve_rank_order());
  for (const DeviceMesh& mesh : {plain, ordered})
    EXPECT_EQ(to_string(mesh.get_group_ranks("tp")), "[3, 1]");
}

}  // namespace
}  // namespace simmesh
