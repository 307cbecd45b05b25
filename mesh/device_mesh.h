#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gsl/span>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor/shape.h"
#include "mesh/mesh_layout.h"
#include "mesh/mesh_viewer.h"
#include "mesh/rank_list.h"

namespace simmesh {

struct MeshDescription;
struct MeshRoot;
struct MeshView;

// DimNames is a list of mesh dim names, written "tp" or {"dp", "tp"}; empty where the dims have no
// names.
class DimNames {
 public:
  DimNames() = default;
  DimNames(const char* name) : names_{name} {}
  DimNames(std::string_view name) : names_{std::string(name)} {}
  DimNames(std::string name) : names_{std::move(name)} {}
  DimNames(std::vector<std::string> names) : names_(std::move(names)) {}
  DimNames(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}

  const std::vector<std::string>& list() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// MeshDim names one dim of a mesh, by name or by index; negative indices count from the end.
class MeshDim {
 public:
  template <std::integral Index>
  MeshDim(Index index) : dim_(static_cast<std::int64_t>(index)) {}
  MeshDim(const char* name) : dim_(std::string(name)) {}
  MeshDim(std::string_view name) : dim_(std::string(name)) {}
  MeshDim(const std::string& name) : dim_(name) {}

  const std::string* name() const { return std::get_if<std::string>(&dim_); }
  const std::int64_t* index() const { return std::get_if<std::int64_t>(&dim_); }

 private:
  std::variant<std::int64_t, std::string> dim_;
};

// DeviceMeshOptions are the constructor's arguments besides ranks and names.
struct DeviceMeshOptions {
  // preserve_rank_order asks PyTorch 2.15 to keep the members of groups in the order of the mesh.
  // Here they always are, so it only distinguishes meshes: all meshes cut out of this one have it
  // too, and it is part of equality and hash. Raises a TypeError under release 2.13, which doesn't
  // know it.
  bool preserve_rank_order = false;
};

// DeviceMesh is an n-dimensional arrangement of ranks, as one rank sees it. Slices, flattened and
// unflattened meshes share their root: they are layouts over the positions of the root's ranks, and
// show the ranks of the viewer's slice. Names and refusals are PyTorch's. A mesh that doesn't hold
// its viewer's rank is a mesh like any other, except that it has no coordinate.
//
// A DeviceMesh is a cheap value over shared state. It costs O(dims) time and memory, however many
// ranks the mesh has. The names of flattened meshes are kept in the root object of one rank, so a
// mesh must not be passed from rank to rank. The members of a group are in the order of their
// coordinates, also where their ranks don't ascend.
//
//   DeviceMesh mesh = DeviceMesh::init({.rank = 5, .world_size = 8}, {2, 4}, {"dp", "tp"});
//   mesh["tp"].ranks();                     // [4, 5, 6, 7]
//   *mesh.get_coordinate();                 // [1, 1]
//   mesh.get_group_ranks("dp");             // [1, 5]
//   mesh.flatten().get_local_rank();        // 5
class DeviceMesh {
 public:
  // init arranges the ranks 0, 1, ... row-major. Raises a RuntimeError for names that repeat or
  // don't match the shape and for a mesh larger than the world, a ValueError for sizes below 1 or
  // more than dims_max dims.
  static DeviceMesh init(MeshViewer viewer, const Shape& shape, const DimNames& names = {});

  // from_ranks arranges the given ranks row-major: permuted, shifted, or only some of the world.
  // Raises as init does, and a ValueError where the ranks don't fill the shape or aren't in the
  // world.
  static DeviceMesh from_ranks(MeshViewer viewer, const RankList& ranks, const Shape& shape,
                               const DimNames& names = {}, DeviceMeshOptions options = {});

  // from_group makes a 1-D mesh of the members of a group. `ranks`, if given, must be those members
  // (ValueError).
  static DeviceMesh from_group(MeshViewer viewer, const RankList& group, const DimNames& names = {},
                               const std::optional<RankList>& ranks = std::nullopt);

  // GroupArrangement are the ranks of several groups, arranged as a mesh.
  struct GroupArrangement {
    std::optional<RankList> ranks;
    Shape shape;
    DimNames names;
  };

  // from_groups makes an n-D mesh of the viewer's groups, one per dim. Raises a ValueError where
  // there is no group, where ranks or names are missing, where the number of dims isn't that of the
  // groups, and where a group isn't the line of the mesh through the viewer.
  static DeviceMesh from_groups(MeshViewer viewer, gsl::span<const RankList> groups,
                                const GroupArrangement& arrangement);

  // concatenate puts the dims of meshes with one root side by side. Raises a TypeError for a mesh
  // without names, a RuntimeError where the roots differ, where the meshes overlap, and where a
  // rank would have no coordinate in the result.
  static DeviceMesh concatenate(gsl::span<const DeviceMesh> meshes);
  static DeviceMesh concatenate(std::initializer_list<DeviceMesh> meshes);

  // ndim is the number of dims, size that of the mesh's ranks, shape the sizes of all dims.
  std::int64_t ndim() const;
  std::int64_t size() const;
  const Shape& shape() const;

  // size of one dim; raises an IndexError or KeyError where the mesh has no such dim.
  std::int64_t size(const MeshDim& dim) const;

  // names has one entry per dim, or none.
  const std::vector<std::string>& names() const;

  // viewer and get_rank return the rank that looks at the mesh.
  const MeshViewer& viewer() const;
  std::int64_t get_rank() const { return viewer().rank; }

  // get_coordinate returns the viewer's coordinate; nullopt where the root mesh doesn't hold its
  // rank. A mesh without dims has the coordinate [].
  const std::optional<Dims>& get_coordinate() const;

  // get_local_rank returns the viewer's coordinate on one dim. A name may also be that of a
  // flattened mesh of the same root. Raises a RuntimeError for a rank outside the mesh and where
  // the dim is left out of a mesh of several.
  std::int64_t get_local_rank(const MeshDim& dim) const;
  std::int64_t get_local_rank() const;

  // get_group_ranks returns the members of the viewer's group on one dim, in the order of their
  // coordinates. Takes a dim and raises as get_local_rank does.
  RankList get_group_ranks(const MeshDim& dim) const;
  RankList get_group_ranks() const;

  // ranks returns the ranks of the mesh that the viewer sees, row-major. Raises a RuntimeError for
  // a rank outside the root, unless the mesh is all of the root.
  RankList ranks() const;

  // dim_index returns the index of a dim in 0 .. ndim()-1; raises an IndexError or KeyError.
  std::int64_t dim_index(const MeshDim& dim) const;

  // operator[] slices: mesh["tp"], mesh[{"dp", "tp"}]. The names of flattened meshes count too
  // where this is the root. Raises a KeyError for unknown names and for dims not in the order of
  // the root, a RuntimeError for an unnamed mesh and for dims that overlap.
  DeviceMesh operator[](const DimNames& names) const;

  // flatten returns all dims as one, and keeps it in the root under its name; without a name the
  // names are joined by '_'. The same name and layout again give the same mesh. Raises a
  // RuntimeError for an unnamed mesh, a ValueError for a name that is taken.
  DeviceMesh flatten(std::string_view name = {}) const;

  // unflatten splits one dim into several. Raises a ValueError for an unknown dim, for sizes that
  // don't multiply to its size and for a dim that can't be split so, a RuntimeError where sizes and
  // names differ in number, a TypeError for an unnamed mesh.
  DeviceMesh unflatten(const MeshDim& dim, const Shape& sizes, const DimNames& names) const;

  // get_all_submeshes returns the 1-D meshes of all lines along a dim, in the order of the root's
  // other positions. Only the viewer's own has a coordinate.
  std::vector<DeviceMesh> get_all_submeshes(const MeshDim& dim) const;

  // root returns the mesh that this one was cut out of.
  DeviceMesh root() const;
  bool is_root() const;

  // find_flattened returns a flattened mesh made earlier that holds just the given dims of this
  // mesh, row-major; dims of size 1 and the order in which the dims are listed don't count.
  std::optional<DeviceMesh> find_flattened(DimSpan dims) const;

  // flattened_count is the number of flattened meshes that the root keeps; flattened_meshes returns
  // them in the order in which they were made.
  std::size_t flattened_count() const;
  std::vector<DeviceMesh> flattened_meshes() const;

  // preserve_rank_order returns the option that the root was made with.
  bool preserve_rank_order() const;

  // layout is how the dims step over the positions of root_ranks.
  const MeshLayout& layout() const;
  const RankList& root_ranks() const;

  // Meshes with equal root ranks, layout, names and options are equal. Sibling slices are therefore
  // equal, as in PyTorch.
  friend bool operator==(const DeviceMesh& a, const DeviceMesh& b);
  std::size_t hash() const;

 private:
  using DescriptionPtr = std::shared_ptr<const MeshDescription>;
  explicit DeviceMesh(std::shared_ptr<const MeshView> view) : view_(std::move(view)) {}
  static DeviceMesh make_root(MeshViewer viewer, RankList ranks, const Shape& shape,
                              const DimNames& names, DeviceMeshOptions options = {});
  static DeviceMesh make_view(std::shared_ptr<MeshRoot> root, DescriptionPtr description);
  static DeviceMesh make_view(std::shared_ptr<MeshRoot> root, MeshLayout layout,
                              std::vector<std::string> names);
  std::optional<DeviceMesh> registered(std::string_view name) const;
  std::int64_t only_dim(std::string_view where) const;
  std::int64_t require_coordinate(std::string_view where, std::int64_t dim) const;

  std::shared_ptr<const MeshView> view_;
};

// to_string returns "DeviceMesh((dp=2, tp=4), ranks [0, 1, ..., 7])" with the ranks that the viewer
// sees.
std::string to_string(const DeviceMesh& mesh);

}  // namespace simmesh

template <>
struct std::hash<simmesh::DeviceMesh> {
  std::size_t operator()(const simmesh::DeviceMesh& mesh) const { return mesh.hash(); }
};
