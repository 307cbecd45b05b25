#include <algorithm>
#include <gmock/gmock.h>
#include <set>

#include "core/check/error.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"
#include "mesh/rank_list.h"
#include "tests/expect_error.h"
#include "tests/mesh/enumerate_meshes.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::expect_error;
using testing::index_of_coordinate;
using testing::kind_and_message;
using testing::NestedArray;
using testing::shapes_up_to;

constexpr std::int64_t ranks_in_world = 30;

DimNames names_of(std::size_t dims) {
  std::vector<std::string> names;
  for (std::size_t dim = 0; dim < dims; ++dim) names.push_back(std::string(1, char('a' + dim)));
  return names;
}

// Two arrangements of the ranks: in order, and mixed up with a gap.
std::vector<std::vector<std::int64_t>> two_arrangements(std::int64_t count) {
  std::vector<std::int64_t> ordered, mixed;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    ordered.push_back(rank);
    mixed.push_back((rank * 7 + 3) % 29);
  }
  return {ordered, mixed};
}

struct Slice {
  Dims dims;
  DimNames names;
  Shape shape;
};

// Every choice of dims of a mesh, in its order.
std::vector<Slice> slices_of(const Shape& shape) {
  std::vector<Slice> slices;
  DimNames names = names_of(shape.size());
  for (unsigned chosen = 1; chosen < 1u << shape.size(); ++chosen) {
    Slice slice;
    std::vector<std::string> list;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      if (chosen >> dim & 1) {
        slice.dims.push_back(static_cast<std::int64_t>(dim));
        slice.shape.push_back(shape[dim]);
        list.push_back(names.list()[dim]);
      }
    slice.names = list;
    slices.push_back(std::move(slice));
  }
  return slices;
}

// Every slice of every mesh of up to 4 dims and 24 ranks, flattened and unflattened again, must
// show what a nested array shows; a wrong one would send collectives to other ranks.
TEST(DeviceMeshSlicing, AgreesWithNestedArrays) {
  for (const Shape& shape : shapes_up_to(4, 24))
    for (const std::vector<std::int64_t>& ranks : two_arrangements(numel(shape))) {
      NestedArray array{shape, ranks};
      RankList list = RankList::of(ranks);
      for (std::size_t at = 0; at < ranks.size(); at += 1 + ranks.size() / 5) {
        DeviceMesh mesh = DeviceMesh::from_ranks({ranks[at], ranks_in_world}, list, shape,
                                                 names_of(shape.size()));
        Dims coordinate = *mesh.get_coordinate();
        for (const Slice& slice : slices_of(shape)) {
          DeviceMesh sub = mesh[slice.names];
          std::vector<std::int64_t> expected = array.slice(coordinate, slice.dims);
          ASSERT_EQ(sub.shape(), slice.shape);
          ASSERT_THAT(sub.ranks().to_vector(), ElementsAreArray(expected));
          Dims part;
          for (std::int64_t dim : slice.dims)
            part.push_back(coordinate[static_cast<std::size_t>(dim)]);
          ASSERT_EQ(*sub.get_coordinate(), part);

          DeviceMesh flat =
              sub.flatten("flat_" + std::to_string(slice.dims.size()) + to_string(slice.dims));
          ASSERT_THAT(flat.get_group_ranks().to_vector(), ElementsAreArray(expected));
          ASSERT_EQ(flat.get_local_rank(), index_of_coordinate(part, slice.shape));
          ASSERT_EQ(flat.unflatten(0, slice.shape, slice.names), sub);
          ASSERT_EQ(mesh.find_flattened(slice.dims)->layout(), flat.layout());
        }
      }
    }
}

// A dim that is split must show the ranks of the whole, in the same order, and its parts must be
// groups of their own.
TEST(DeviceMeshSlicing, UnflattenedDimsAgreeWithNestedArrays) {
  for (std::int64_t front : {1, 2, 3})
    for (const Shape& inner : shapes_up_to(3, 12))
      for (const std::vector<std::int64_t>& ranks : two_arrangements(front * numel(inner) * 2)) {
        if (ranks.size() > 24) continue;
        Shape whole{front}, split_sizes = inner;
        whole.insert(whole.end(), inner.begin(), inner.end());
        whole.push_back(2);
        NestedArray array{whole, ranks};
        RankList list = RankList::of(ranks);
        for (std::int64_t rank : ranks) {
          DeviceMesh mesh = DeviceMesh::from_ranks(
              {rank, ranks_in_world}, list, {front, numel(inner), 2}, {"front", "m", "back"});
          std::vector<std::string> names = names_of(inner.size()).list();
          DeviceMesh split = mesh.unflatten("m", split_sizes, names);
          ASSERT_EQ(split.shape(), whole);
          ASSERT_EQ(split.ranks(), mesh.ranks());
          for (std::int64_t dim = 0; dim < split.ndim(); ++dim)
            ASSERT_THAT(split.get_group_ranks(dim).to_vector(),
                        ElementsAreArray(array.slice(*split.get_coordinate(), Dims{dim})));
          ASSERT_EQ(split[names].flatten("again").layout()[0], mesh.layout()[1]);
        }
      }
}

TEST(DeviceMeshSlicing, ConcatenatePutsDimsSideBySide) {
  DeviceMesh mesh = DeviceMesh::init({5, 12}, {2, 2, 3}, {"dp", "cp", "tp"});
  DeviceMesh outer = DeviceMesh::concatenate({mesh["dp"], mesh["tp"]});
  EXPECT_EQ(outer, (mesh[{"dp", "tp"}]));
  DeviceMesh swapped = DeviceMesh::concatenate({mesh["tp"], mesh["dp"]});
  EXPECT_EQ(swapped.names(), (std::vector<std::string>{"tp", "dp"}));
  EXPECT_THAT(swapped.ranks().to_vector(), ElementsAre(3, 9, 4, 10, 5, 11));
  EXPECT_THAT(*swapped.get_coordinate(), ElementsAre(2, 0));
  // Coordinates of the flattened swapped mesh run along its own dims, not along the ranks.
  EXPECT_EQ(swapped.flatten("f").get_local_rank(), 4);
  EXPECT_THAT(swapped.flatten("f").get_group_ranks().to_vector(), ElementsAre(3, 9, 4, 10, 5, 11));

  ErrorKind runtime = ErrorKind::runtime_error;
  expect_error(
      [&] {
        DeviceMesh::concatenate({mesh["dp"], mesh["dp"]});
      },
      runtime, "Cannot concatenate overlapping meshes");
  DeviceMesh other = DeviceMesh::init({5, 12}, {2, 3}, {"x", "y"});
  expect_error(
      [&] {
        DeviceMesh::concatenate({mesh["dp"], other["y"]});
      },
      runtime, "Cannot concatenate DeviceMeshes derived from different device meshes");
  expect_error([&] { DeviceMesh::concatenate({}); }, ErrorKind::value_error, "at least one");
}

// Two ways to split one dim don't fit together: were they let through, ranks would see themselves
// at wrong coordinates.
TEST(DeviceMeshSlicing, ConcatenateRefusesDimsThatDoNotInterlock) {
  DeviceMesh mesh = DeviceMesh::init({0, 12}, {12}, {"w"});
  DeviceMesh thirds = mesh.unflatten(0, {3, 4}, {"t", "f"});
  DeviceMesh quarters = mesh.unflatten(0, {4, 3}, {"q", "h"});
  expect_error(
      [&] {
        DeviceMesh::concatenate({thirds["t"], quarters["h"]});
      },
      ErrorKind::runtime_error, "cut the 12 ranks of the root evenly");
  expect_error(
      [&] {
        DeviceMesh::concatenate({thirds["f"], quarters["h"]});
      },
      ErrorKind::runtime_error, "overlapping");
}

// Unit dims have no stride: no order check may trip over them, and they never count when a
// flattened mesh is looked up.
TEST(DeviceMeshSlicing, UnitDimsStandAnywhere) {
  DeviceMesh mesh = DeviceMesh::init({3, 6}, {2, 1, 3}, {"dp", "cp", "tp"});
  EXPECT_EQ((mesh[{"cp", "dp"}].shape()), (Shape{1, 2}));
  EXPECT_EQ((mesh[{"tp", "cp"}].shape()), (Shape{3, 1}));
  EXPECT_EQ((mesh[{"dp", "tp", "cp"}].shape()), (Shape{2, 3, 1}));
  EXPECT_EQ(mesh.get_group_ranks("cp"), RankList::of({3}));
  DeviceMesh flat = mesh[{"dp", "tp"}].flatten("flat");
  EXPECT_EQ((mesh[{"flat", "cp"}].shape()), (Shape{6, 1}));
  EXPECT_EQ(mesh.find_flattened(Dims{0, 1, 2}), flat);
  EXPECT_EQ(mesh.find_flattened(Dims{2, 0}), flat);
  EXPECT_EQ(mesh.find_flattened(Dims{0, 1}), std::nullopt);
  EXPECT_EQ(mesh.flatten("flat"), flat);
}

TEST(DeviceMeshSlicing, FlattenedNamesLiveInTheRoot) {
  DeviceMesh mesh = DeviceMesh::init({6, 8}, {2, 2, 2}, {"dp", "cp", "tp"});
  DeviceMesh other_rank = DeviceMesh::init({5, 8}, {2, 2, 2}, {"dp", "cp", "tp"});
  DeviceMesh flat = mesh[{"dp", "cp"}].flatten();
  EXPECT_EQ(flat.names(), std::vector<std::string>{"dp_cp"});
  EXPECT_EQ(mesh["dp_cp"], flat);
  EXPECT_EQ((mesh[{"dp_cp", "tp"}].ranks()), RankList::range(8));
  EXPECT_EQ(mesh.get_local_rank("dp_cp"), 3);
  EXPECT_EQ(mesh["tp"].get_group_ranks("dp_cp"), RankList::of({0, 2, 4, 6}));
  EXPECT_EQ(mesh.find_flattened(Dims{0, 1}), flat);
  EXPECT_EQ((mesh[{"dp", "cp"}].find_flattened(Dims{1, 0})), flat);
  EXPECT_EQ(other_rank.find_flattened(Dims{0, 1}), std::nullopt);
  EXPECT_EQ((mesh[{"dp", "cp"}].flatten("dp_cp")), flat);
  EXPECT_EQ(flat.flatten(), flat);
  EXPECT_TRUE((mesh[{"dp", "cp", "tp"}].is_root()));
  EXPECT_EQ(flat.root(), mesh);

  ErrorKind value = ErrorKind::value_error, key = ErrorKind::key_error;
  expect_error([&] { mesh.flatten("tp"); }, value, "already exists for submesh");
  expect_error([&] { mesh[{"dp", "tp"}].flatten("dp_cp"); }, value, "has been created before");
  expect_error([&] { mesh[{"dp", "tp"}]["dp_cp"]; }, key, "Invalid mesh_dim_names");
  expect_error([&] { other_rank["dp_cp"]; }, key, "Invalid mesh_dim_names");
}

TEST(DeviceMeshSlicing, SlicesOfNoDims) {
  DeviceMesh mesh = DeviceMesh::init({2, 4}, {2, 2}, {"dp", "tp"});
  DeviceMesh none = mesh[DimNames()];
  EXPECT_EQ(none.ndim(), 0);
  ASSERT_TRUE(none.get_coordinate());
  EXPECT_EQ(none.ranks(), RankList::of({2}));
}

TEST(DeviceMeshSlicing, RefusesWhatIsNoSlice) {
  DeviceMesh mesh = DeviceMesh::init({0, 8}, {2, 2, 2}, {"dp", "cp", "tp"});
  ErrorKind key = ErrorKind::key_error, runtime = ErrorKind::runtime_error;
  expect_error([&] { mesh["xx"]; }, key, "Invalid mesh_dim_names");
  expect_error([&] { mesh[{"tp", "dp"}]; }, key, "Mesh dim indices should be in ascending order");
  expect_error([&] { mesh["dp"]["tp"]; }, key, "Invalid mesh_dim_names");
  expect_error([&] { mesh[{"dp", "dp"}]; }, runtime, "Slicing overlapping dim_names");
  mesh[{"dp", "cp"}].flatten("f");
  expect_error([&] { mesh[{"f", "cp"}]; }, runtime, "Slicing overlapping dim_names");
  mesh[{"dp", "tp"}].flatten("g");
  expect_error([&] { mesh[{"g", "cp"}]; }, key, "Mesh dim indices should be in ascending order");
  DeviceMesh unnamed = DeviceMesh::init({0, 4}, {2, 2});
  expect_error([&] { unnamed["dp"]; }, runtime, "Cannot slice a DeviceMesh without mesh_dim_names");
  expect_error([&] { unnamed.flatten(); }, runtime,
               "Cannot flatten a DeviceMesh without mesh_dim_names");
  expect_error(
      [&] {
        unnamed.unflatten(0, {2, 1}, {"a", "b"});
      },
      ErrorKind::type_error, "without mesh_dim_names");
  expect_error(
      [&] {
        unnamed.unflatten("dp", {2, 1}, {"a", "b"});
      },
      ErrorKind::type_error, "a mesh with mesh_dim_names");
  expect_error(
      [&] {
        DeviceMesh::concatenate({unnamed, unnamed});
      },
      ErrorKind::type_error, "Cannot concatenate a DeviceMesh without mesh_dim_names");
}

TEST(DeviceMeshSlicing, RefusesWhatIsNoUnflatten) {
  DeviceMesh mesh = DeviceMesh::init({0, 12}, {2, 6}, {"dp", "tp"});
  ErrorKind value = ErrorKind::value_error, runtime = ErrorKind::runtime_error;
  expect_error([&] { mesh.unflatten(2, {2, 3}, {"u", "v"}); }, value, "is out of range");
  expect_error([&] { mesh.unflatten("none", {2, 3}, {"u", "v"}); }, value, "is not in");
  expect_error(
      [&] {
        mesh.unflatten(1, {2, 3}, {"u", "v", "w"});
      },
      runtime, "mesh_dim_names must have same length as mesh_sizes");
  expect_error(
      [&] {
        mesh.unflatten(1, {2, 2}, {"u", "v"});
      },
      value, "must be equal for unflatten");
  expect_error([&] { mesh.unflatten(1, {-2, -3}, {"u", "v"}); }, value, "sizes of 1 or more");
  expect_error(
      [&] {
        mesh.unflatten(1, {2, 3}, {"u", "dp"});
      },
      runtime, "Each mesh_dim_name must be unique");
  DeviceMesh uneven = DeviceMesh::init({0, 12}, {2, 2, 3}, {"a", "b", "c"});
  expect_error(
      [&] {
        uneven[{"a", "c"}].flatten().unflatten(0, {3, 2}, {"u", "v"});
      },
      value, "expected sizes along which the dim (2, 3):(6, 1) can be cut");
  expect_error([&] { mesh.unflatten(0, Shape(40, 1), names_of(40)); }, value, "must be equal");
  Shape many(33, 1);
  many[0] = 2;
  expect_error([&] { mesh.unflatten(0, many, names_of(33)); }, value, "at most 32 mesh dims");
}

TEST(DeviceMeshSlicing, AllSubmeshesOfADim) {
  DeviceMesh mesh =
      DeviceMesh::from_ranks({4, 8}, RankList::of({7, 6, 5, 4, 3, 2}), {2, 3}, {"dp", "tp"});
  std::vector<DeviceMesh> rows = mesh.get_all_submeshes("tp");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].ranks(), RankList::of({7, 6, 5}));
  EXPECT_EQ(rows[1].ranks(), RankList::of({4, 3, 2}));
  EXPECT_FALSE(rows[0].get_coordinate());
  EXPECT_THAT(*rows[1].get_coordinate(), ElementsAre(0));
  EXPECT_EQ(rows[1].names(), std::vector<std::string>{"tp"});
  EXPECT_EQ(mesh.get_all_submeshes(0).size(), 3u);
}

std::string refusal_of_two_roots(Release release) {
  std::string text;
  World world({.ranks = 1, .release = release});
  Outcome outcome = world.run([&](Rank&) {
    MeshViewer viewer{.rank = 0, .world_size = 2};
    DeviceMesh forward = DeviceMesh::from_ranks(viewer, RankList::of({0, 1}), {2}, {"a"});
    DeviceMesh backward = DeviceMesh::from_ranks(viewer, RankList::of({1, 0}), {2}, {"b"});
    text = kind_and_message([&] { DeviceMesh::concatenate({forward, backward}); });
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return text;
}

TEST(ReleaseChanges, ConcatenateRefusalText) {
  EXPECT_EQ(refusal_of_two_roots(Release::v2_13),
            "RuntimeError: Cannot concatenate DeviceMeshes derived from different device meshs: "
            "ranks [0, 1] and [1, 0]");
  EXPECT_EQ(refusal_of_two_roots(Release::v2_15),
            "RuntimeError: Cannot concatenate DeviceMeshes derived from different device meshes: "
            "ranks [0, 1] and [1, 0]");
}

}  // namespace
}  // namespace simmesh
