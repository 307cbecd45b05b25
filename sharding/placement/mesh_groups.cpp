#include "sharding/placement/mesh_groups.h"

#include <algorithm>

#include "core/check/check.h"

namespace simmesh {

MeshGroups::MeshGroups(DeviceMesh mesh)
    : mesh_(std::move(mesh)), of_dim_(std::size_t(mesh_.ndim())) {}

const ProcessGroup& MeshGroups::group(DimSpan mesh_dims) {
  if (mesh_dims.size() == 1) {
    auto& group = of_dim_[std::size_t(mesh_dims[0])];
    if (!group) group = process_group(mesh_, mesh_dims[0]);
    return *group;
  }
  for (const Merged& merged : merged_)
    if (std::equal(merged.mesh_dims.begin(), merged.mesh_dims.end(), mesh_dims.begin(),
                   mesh_dims.end()))
      return merged.group;
  std::optional<DeviceMesh> flat = mesh_.find_flattened(mesh_dims);
  SIMMESH_CHECK(flat, "no flattened mesh for the dims {}", to_string(mesh_dims));
  merged_.push_back({Dims(mesh_dims.begin(), mesh_dims.end()), process_group(*flat)});
  return merged_.back().group;
}

const ProcessGroup& MeshGroups::whole() {
  if (mesh_.ndim() == 1) return group(Dims{0});
  if (!whole_) whole_ = ProcessGroup::of(mesh_.ranks(), "mesh");
  return *whole_;
}

// Meshes have few dims, so all sets of two or more are tried.
std::vector<Dims> MeshGroups::flattened() const {
  std::vector<Dims> result;
  if (mesh_.names().empty() || mesh_.ndim() < 2 || mesh_.ndim() > 8) return result;
  for (std::uint32_t set = 1; set < (1u << mesh_.ndim()); ++set) {
    Dims dims;
    for (std::int64_t dim = 0; dim < mesh_.ndim(); ++dim)
      if (set >> dim & 1) dims.push_back(dim);
    if (dims.size() >= 2 && mesh_.find_flattened(dims)) result.push_back(dims);
  }
  return result;
}

}  // namespace simmesh
