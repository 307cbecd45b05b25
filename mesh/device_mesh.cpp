#include "mesh/device_mesh.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/engine/run/followed_release.h"
#include "core/engine/run/run.h"
#include "mesh/device_mesh_state.h"

namespace simmesh {

namespace {

using Names = std::vector<std::string>;

void require_unique(const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      raise(ErrorKind::runtime_error, "mesh/device_mesh",
            "Each mesh_dim_name must be unique, got '{}' twice in {}", names[i], names);
}

void require_shape(const Shape& shape, const Names& names) {
  require_unique(names);
  if (!names.empty() && names.size() != shape.size())
    raise(ErrorKind::runtime_error, "mesh/device_mesh",
          "mesh_shape and mesh_dim_names should have same length, got shape {} and names {}",
          to_string(shape), names);
  if (static_cast<std::int64_t>(shape.size()) > dims_max)
    raise(ErrorKind::value_error, "mesh/device_mesh", "expected at most {} mesh dims, got {}",
          dims_max, shape.size());
  for (std::int64_t size : shape)
    if (size < 1)
      raise(ErrorKind::value_error, "mesh/device_mesh",
            "expected mesh dims of size 1 or more, got the shape {}", to_string(shape));
}

void require_viewer(MeshViewer viewer) {
  if (viewer.rank < 0 || viewer.rank >= viewer.world_size)
    raise(ErrorKind::value_error, "mesh/device_mesh",
          "expected a viewer in 0 .. world_size-1, got rank {} of a world of {}", viewer.rank,
          viewer.world_size);
}

// Descriptions are those of the first meshes of a run, which its ranks share; later meshes have
// their own.
struct Descriptions {
  static constexpr std::size_t shared_max = 64;
  std::vector<MeshDescriptionPtr> shared;
};

MeshDescriptionPtr describe(MeshLayout layout, Names names, bool preserve_rank_order) {
  auto is_same = [&](const MeshDescriptionPtr& other) {
    return other->layout == layout && other->names == names &&
           other->preserve_rank_order == preserve_rank_order;
  };
  std::vector<MeshDescriptionPtr>* shared = nullptr;
  if (in_rank()) {
    Run& run = this_rank().run();
    run.take_turn(this_rank());
    shared = &run.state<Descriptions>().shared;
    if (auto found = std::find_if(shared->begin(), shared->end(), is_same); found != shared->end())
      return *found;
  }
  Shape shape = layout.shape();
  auto made = std::make_shared<const MeshDescription>(
      MeshDescription{std::move(layout), std::move(names), std::move(shape), preserve_rank_order});
  if (shared && shared->size() < Descriptions::shared_max) shared->push_back(made);
  return made;
}

}  // namespace

DeviceMesh DeviceMesh::init(MeshViewer viewer, const Shape& shape, const DimNames& names) {
  require_viewer(viewer);
  require_shape(shape, names.list());
  std::int64_t count = numel(shape);
  if (count > viewer.world_size)
    raise(ErrorKind::runtime_error, "mesh/device_mesh",
          "Mesh should not be bigger than default world size {}, but found {} ranks",
          viewer.world_size, count);
  return make_root(viewer, RankList::range(count), shape, names);
}

DeviceMesh DeviceMesh::from_ranks(MeshViewer viewer, const RankList& ranks, const Shape& shape,
                                  const DimNames& names, DeviceMeshOptions options) {
  if (options.preserve_rank_order && !follows(ReleaseChange::preserve_rank_order))
    raise(ErrorKind::type_error, "mesh/device_mesh",
          "expected no option of release 2.15, got an unexpected keyword argument "
          "'preserve_rank_order' under {}",
          to_string(followed_release()));
  require_viewer(viewer);
  require_shape(shape, names.list());
  if (ranks.size() > viewer.world_size)
    raise(ErrorKind::runtime_error, "mesh/device_mesh",
          "Mesh should not be bigger than default world size {}, but found {} ranks",
          viewer.world_size, ranks.size());
  if (numel(shape) != ranks.size())
    raise(ErrorKind::value_error, "mesh/device_mesh", "expected {} ranks for the shape {}, got {}",
          numel(shape), to_string(shape), ranks.size());
  if (ranks.max() >= viewer.world_size)
    raise(ErrorKind::value_error, "mesh/device_mesh",
          "The new group's rank should be within the world_size: expected ranks in 0 .. {}, got {}",
          viewer.world_size - 1, ranks.max());
  return make_root(viewer, ranks, shape, names, options);
}

DeviceMesh DeviceMesh::from_group(MeshViewer viewer, const RankList& group, const DimNames& names,
                                  const std::optional<RankList>& ranks) {
  if (ranks && *ranks != group)
    raise(ErrorKind::value_error, "mesh/from_group",
          "Invalid mesh {} for ProcessGroup with ranks {}", to_string(*ranks), to_string(group));
  return from_ranks(viewer, group, {group.size()}, names);
}

DeviceMesh DeviceMesh::from_groups(MeshViewer viewer, gsl::span<const RankList> groups,
                                   const GroupArrangement& arrangement) {
  constexpr std::string_view where = "mesh/from_groups";
  if (groups.empty())
    raise(ErrorKind::value_error, where,
          "Expects at least one ProcessGroup to be passed, got none");
  if (!arrangement.ranks)
    raise(ErrorKind::value_error, where,
          "Must pass mesh if passing multiple ProcessGroups, got {} groups and no ranks",
          groups.size());
  if (arrangement.names.list().empty())
    raise(ErrorKind::value_error, where,
          "Must pass mesh_dim_names if passing multiple ProcessGroups, got {} groups and no names",
          groups.size());
  if (arrangement.shape.size() != groups.size())
    raise(ErrorKind::value_error, where,
          "Expects mesh with ndim equal to number of ProcessGroups but got mesh {} of shape {} and "
          "{} ProcessGroups",
          to_string(*arrangement.ranks), to_string(arrangement.shape), groups.size());
  DeviceMesh mesh = from_ranks(viewer, *arrangement.ranks, arrangement.shape, arrangement.names);
  if (!mesh.get_coordinate()) return mesh;
  for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim)
    if (RankList line = mesh.get_group_ranks(dim); line != groups[static_cast<std::size_t>(dim)])
      raise(ErrorKind::value_error, where,
            "Invalid mesh {} for ProcessGroup with ranks {}: on dim {} rank {} is on the line {}",
            to_string(*arrangement.ranks), to_string(groups[static_cast<std::size_t>(dim)]), dim,
            viewer.rank, to_string(line));
  return mesh;
}

DeviceMesh DeviceMesh::make_root(MeshViewer viewer, RankList ranks, const Shape& shape,
                                 const DimNames& names, DeviceMeshOptions options) {
  auto root = std::make_shared<MeshRoot>();
  root->viewer = viewer;
  root->position = ranks.index_of(viewer.rank);
  root->ranks = std::move(ranks);
  root->description =
      describe(MeshLayout::contiguous(shape), names.list(), options.preserve_rank_order);
  return make_view(root, root->description);
}

DeviceMesh DeviceMesh::make_view(std::shared_ptr<MeshRoot> root, MeshLayout layout, Names names) {
  require_unique(names);
  if (layout.ndim() > dims_max)
    raise(ErrorKind::value_error, "mesh/device_mesh", "expected at most {} mesh dims, got {}",
          dims_max, layout.ndim());
  DescriptionPtr description =
      describe(std::move(layout), std::move(names), root->description->preserve_rank_order);
  return make_view(std::move(root), std::move(description));
}

DeviceMesh DeviceMesh::make_view(std::shared_ptr<MeshRoot> root, DescriptionPtr description) {
  auto view = std::make_shared<MeshView>();
  view->description = std::move(description);
  if (root->position) {
    const MeshLayout& layout = view->description->layout;
    view->coordinate = layout.coordinate_of(*root->position);
    view->start = *root->position - layout.position_of(*view->coordinate);
  }
  view->root = std::move(root);
  return DeviceMesh(std::move(view));
}

std::int64_t DeviceMesh::ndim() const { return view_->description->layout.ndim(); }
std::int64_t DeviceMesh::size() const { return view_->description->layout.size(); }
const Shape& DeviceMesh::shape() const { return view_->description->shape; }
const Names& DeviceMesh::names() const { return view_->description->names; }
const MeshViewer& DeviceMesh::viewer() const { return view_->root->viewer; }
const std::optional<Dims>& DeviceMesh::get_coordinate() const { return view_->coordinate; }
const MeshLayout& DeviceMesh::layout() const { return view_->description->layout; }
const RankList& DeviceMesh::root_ranks() const { return view_->root->ranks; }
bool DeviceMesh::preserve_rank_order() const { return view_->description->preserve_rank_order; }

std::int64_t DeviceMesh::size(const MeshDim& dim) const { return layout()[dim_index(dim)].size(); }

std::int64_t DeviceMesh::dim_index(const MeshDim& dim) const {
  if (const std::string* name = dim.name()) {
    if (names().empty())
      raise(ErrorKind::key_error, "mesh/device_mesh",
            "No `mesh_dim_names` found: expected a named mesh for the dim '{}'", *name);
    auto found = std::find(names().begin(), names().end(), *name);
    if (found == names().end())
      raise(ErrorKind::key_error, "mesh/device_mesh",
            "Mesh dimension '{}' does not exist, expected one of {}", *name, names());
    return found - names().begin();
  }
  std::int64_t index = *dim.index() < 0 ? *dim.index() + ndim() : *dim.index();
  if (index < 0 || index >= ndim())
    raise(ErrorKind::index_error, "mesh/device_mesh",
          "tuple index out of range: expected a dim of a mesh of {} dims, got {}", ndim(),
          *dim.index());
  return index;
}

std::int64_t DeviceMesh::only_dim(std::string_view where) const {
  if (ndim() > 1)
    raise(ErrorKind::runtime_error, where,
          "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1, got no dim "
          "for a mesh of {} dims",
          ndim());
  return dim_index(0);
}

std::int64_t DeviceMesh::require_coordinate(std::string_view where, std::int64_t dim) const {
  if (!get_coordinate())
    raise(ErrorKind::runtime_error, where, "expected a rank of the mesh {}, got rank {}",
          to_string(root_ranks()), get_rank());
  return (*get_coordinate())[static_cast<std::size_t>(dim)];
}

std::int64_t DeviceMesh::get_local_rank(const MeshDim& dim) const {
  if (dim.name() != nullptr &&
      std::find(names().begin(), names().end(), *dim.name()) == names().end())
    if (std::optional<DeviceMesh> flattened = registered(*dim.name()))
      return flattened->get_local_rank();
  return require_coordinate("mesh/get_local_rank", dim_index(dim));
}

std::int64_t DeviceMesh::get_local_rank() const {
  return get_local_rank(only_dim("mesh/get_local_rank"));
}

RankList DeviceMesh::get_group_ranks(const MeshDim& dim) const {
  if (dim.name() != nullptr &&
      std::find(names().begin(), names().end(), *dim.name()) == names().end())
    if (std::optional<DeviceMesh> flattened = registered(*dim.name()))
      return flattened->get_group_ranks();
  std::int64_t index = dim_index(dim);
  std::int64_t coordinate = require_coordinate("mesh/get_group_ranks", index);
  return root_ranks().select(*view_->root->position - layout()[index](coordinate), layout()[index]);
}

RankList DeviceMesh::get_group_ranks() const {
  return get_group_ranks(only_dim("mesh/get_group_ranks"));
}

RankList DeviceMesh::ranks() const {
  if (!get_coordinate() && size() != root_ranks().size())
    raise(ErrorKind::runtime_error, "mesh/ranks",
          "expected a rank of the mesh {}, or the whole of it, got rank {} and a part of shape {}",
          to_string(root_ranks()), get_rank(), to_string(shape()));
  return root_ranks().select(view_->start, layout().flattened());
}

bool operator==(const DeviceMesh& a, const DeviceMesh& b) {
  if (a.view_ == b.view_) return true;
  return a.layout() == b.layout() && a.names() == b.names() && a.root_ranks() == b.root_ranks() &&
         a.preserve_rank_order() == b.preserve_rank_order();
}

std::size_t DeviceMesh::hash() const {
  FoldHash hash(root_ranks().hash());
  for (std::int64_t dim = 0; dim < ndim(); ++dim) {
    hash.fold(static_cast<std::uint64_t>(layout()[dim].size()));
    for (const LayoutDim& part : layout()[dim].dims())
      hash.fold(static_cast<std::uint64_t>(part.stride));
  }
  for (const std::string& name : names()) {
    hash.fold(name.size());
    for (char letter : name) hash.fold(static_cast<unsigned char>(letter));
  }
  if (preserve_rank_order()) hash.fold(1);
  return static_cast<std::size_t>(hash.value());
}

std::string to_string(const DeviceMesh& mesh) {
  std::string dims;
  for (std::int64_t dim = 0; dim < mesh.ndim(); ++dim) {
    if (dim > 0) dims += ", ";
    if (!mesh.names().empty()) dims += mesh.names()[static_cast<std::size_t>(dim)] + "=";
    dims += fmt::format("{}", mesh.size(dim));
  }
  bool visible = mesh.get_coordinate() || mesh.size() == mesh.root_ranks().size();
  return fmt::format(
      "DeviceMesh(({}), ranks {})", dims,
      visible ? to_string(mesh.ranks()) : fmt::format("out of {}", to_string(mesh.root_ranks())));
}

}  // namespace simmesh
