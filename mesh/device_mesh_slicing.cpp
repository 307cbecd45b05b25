#include <algorithm>
#include <fmt/ranges.h>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/engine/run/followed_release.h"
#include "mesh/device_mesh.h"
#include "mesh/device_mesh_state.h"

namespace simmesh {

namespace {

using Names = std::vector<std::string>;

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Refuses layouts in which a position would have no coordinate or several: division only finds the
// coordinates of meshes cut from one root along its dims.
void require_even(const MeshLayout& layout, std::int64_t total, std::string_view where) {
  if (!layout.flattened().divides(total))
    raise(ErrorKind::runtime_error, where,
          "expected dims that cut the {} ranks of the root evenly, got the layout {}", total,
          to_string(layout));
}

}  // namespace

DeviceMesh DeviceMesh::root() const { return make_view(view_->root, view_->root->description); }

bool DeviceMesh::is_root() const {
  return layout() == view_->root->description->layout && names() == view_->root->description->names;
}

std::optional<DeviceMesh> DeviceMesh::registered(std::string_view name) const {
  for (const auto& [flattened_name, layout] : view_->root->flattened)
    if (flattened_name == name) return make_view(view_->root, MeshLayout(layout), {flattened_name});
  return std::nullopt;
}

DeviceMesh DeviceMesh::operator[](const DimNames& wanted) const {
  constexpr std::string_view where = "mesh/slice";
  const Names& list = wanted.list();
  if (names().empty())
    raise(ErrorKind::runtime_error, where,
          "Cannot slice a DeviceMesh without mesh_dim_names, got {}", list);
  if (list == names()) return *this;

  Names valid = names();
  if (is_root())
    for (const auto& [name, layout] : view_->root->flattened) valid.push_back(name);
  MeshLayout slice;
  for (const std::string& name : list) {
    if (!contains(valid, name))
      raise(ErrorKind::key_error, where,
            "Invalid mesh_dim_names {} specified, expected names out of {}", list, valid);
    slice.append(contains(names(), name) ? layout().sliced(Dims{dim_index(name)})
                                         : registered(name)->layout());
  }
  Layout flattened = slice.flattened();
  if (!flattened.sorted())
    raise(ErrorKind::key_error, where,
          "Invalid mesh_dim_names {} specified. Mesh dim indices should be in ascending order, "
          "got the layout {}",
          list, to_string(slice));
  if (!flattened.injective())
    raise(ErrorKind::runtime_error, where,
          "Slicing overlapping dim_names {} is not allowed, got the layout {}", list,
          to_string(slice));
  require_even(slice, root_ranks().size(), where);
  return make_view(view_->root, std::move(slice), list);
}

DeviceMesh DeviceMesh::flatten(std::string_view name) const {
  constexpr std::string_view where = "mesh/flatten";
  if (names().empty())
    raise(ErrorKind::runtime_error, where, "Cannot flatten a DeviceMesh without mesh_dim_names");
  std::string flat_name = name.empty() ? join_text(names(), "_") : std::string(name);
  if (ndim() == 1 && flat_name == names()[0]) return *this;
  if (contains(view_->root->description->names, flat_name))
    raise(ErrorKind::value_error, where,
          "{} already exists for submesh of the mesh with the dims {}, expected another name",
          flat_name, view_->root->description->names);

  Layout flattened = layout().flattened();
  if (std::optional<DeviceMesh> made = registered(flat_name)) {
    if (made->layout()[0] == flattened) return *made;
    raise(ErrorKind::value_error, where,
          "Flatten mesh with mesh_dim_name {} has been created before with the layout {}, "
          "expected another name for the layout {}",
          flat_name, to_string(made->layout()), to_string(flattened));
  }
  view_->root->flattened.emplace_back(flat_name, flattened);
  return make_view(view_->root, MeshLayout(std::move(flattened)), {flat_name});
}

DeviceMesh DeviceMesh::unflatten(const MeshDim& dim, const Shape& sizes,
                                 const DimNames& wanted) const {
  constexpr std::string_view where = "mesh/unflatten";
  if (dim.index() != nullptr && (*dim.index() >= ndim() || *dim.index() < -ndim()))
    raise(ErrorKind::value_error, where,
          "dim {} specified in unflatten is out of range, expected a dim of a mesh of {} dims",
          *dim.index(), ndim());
  if (dim.name() != nullptr && names().empty())
    raise(ErrorKind::type_error, where,
          "expected a mesh with mesh_dim_names for a dim by name, got '{}' for one without",
          *dim.name());
  if (dim.name() != nullptr && !contains(names(), *dim.name()))
    raise(ErrorKind::value_error, where, "dim {} specified in unflatten is not in {}", *dim.name(),
          names());
  if (sizes.size() != wanted.list().size())
    raise(
        ErrorKind::runtime_error, where,
        "mesh_dim_names must have same length as mesh_sizes in unflatten, got {} for the sizes {}",
        wanted.list(), to_string(sizes));
  for (std::int64_t size : sizes)
    if (size < 1)
      raise(ErrorKind::value_error, where, "expected sizes of 1 or more, got {}", to_string(sizes));
  std::int64_t index = dim_index(dim);
  std::int64_t product = numel(sizes);
  if (product != size(index))
    raise(ErrorKind::value_error, where,
          "The product of the sizes {} is {}, but dim {} has size {}. These must be equal for "
          "unflatten to work",
          to_string(sizes), product, index, size(index));
  if (names().empty())
    raise(ErrorKind::type_error, where, "Cannot unflatten a DeviceMesh without mesh_dim_names");
  std::optional<MeshLayout> unflattened = layout().unflattened(index, sizes);
  if (!unflattened)
    raise(ErrorKind::value_error, where, "expected sizes along which the dim {} can be cut, got {}",
          to_string(layout()[index]), to_string(sizes));
  Names all = names();
  all.erase(all.begin() + index);
  all.insert(all.begin() + index, wanted.list().begin(), wanted.list().end());
  return make_view(view_->root, std::move(*unflattened), std::move(all));
}

DeviceMesh DeviceMesh::concatenate(std::initializer_list<DeviceMesh> meshes) {
  return concatenate(gsl::span<const DeviceMesh>(meshes.begin(), meshes.size()));
}

DeviceMesh DeviceMesh::concatenate(gsl::span<const DeviceMesh> meshes) {
  constexpr std::string_view where = "mesh/concatenate";
  if (meshes.empty()) raise(ErrorKind::value_error, where, "expected at least one mesh, got none");
  const std::shared_ptr<MeshRoot>& root = meshes[0].view_->root;
  MeshLayout layout;
  Names names;
  for (const DeviceMesh& mesh : meshes) {
    if (mesh.names().empty() && mesh.ndim() > 0)
      raise(ErrorKind::type_error, where,
            "Cannot concatenate a DeviceMesh without mesh_dim_names, got {}", to_string(mesh));
    if (mesh.get_rank() != root->viewer.rank || mesh.root_ranks() != root->ranks)
      raise(ErrorKind::runtime_error, where,
            "Cannot concatenate DeviceMeshes derived from different device {}: ranks {} and {}",
            follows(ReleaseChange::concatenate_refusal_text) ? "meshes" : "meshs",
            to_string(root->ranks), to_string(mesh.root_ranks()));
    layout.append(mesh.layout());
    names.insert(names.end(), mesh.names().begin(), mesh.names().end());
  }
  if (!layout.flattened().injective())
    raise(ErrorKind::runtime_error, where,
          "Cannot concatenate overlapping meshes, got the dims {} with the layout {}", names,
          to_string(layout));
  require_even(layout, root->ranks.size(), where);
  return make_view(root, std::move(layout), std::move(names));
}

std::vector<DeviceMesh> DeviceMesh::get_all_submeshes(const MeshDim& dim) const {
  std::int64_t index = dim_index(dim);
  const Layout& line = layout()[index];
  Layout starts = line.complement(root_ranks().size());
  DimNames name = names().empty() ? DimNames() : names()[static_cast<std::size_t>(index)];
  std::vector<DeviceMesh> meshes;
  for (std::int64_t i = 0; i < starts.size(); ++i)
    meshes.push_back(make_root(viewer(), root_ranks().select(starts(i), line), {line.size()}, name,
                               {.preserve_rank_order = preserve_rank_order()}));
  return meshes;
}

std::size_t DeviceMesh::flattened_count() const { return view_->root->flattened.size(); }

std::vector<DeviceMesh> DeviceMesh::flattened_meshes() const {
  std::vector<DeviceMesh> meshes;
  for (const auto& [name, layout] : view_->root->flattened) meshes.push_back(*registered(name));
  return meshes;
}

std::optional<DeviceMesh> DeviceMesh::find_flattened(DimSpan dims) const {
  Dims ascending(dims.begin(), dims.end());
  for (std::int64_t& dim : ascending) dim = dim_index(dim);
  std::sort(ascending.begin(), ascending.end());
  Layout wanted = layout().sliced(ascending).flattened();
  for (const auto& [name, layout] : view_->root->flattened)
    if (layout == wanted) return make_view(view_->root, MeshLayout(layout), {name});
  return std::nullopt;
}

}  // namespace simmesh
