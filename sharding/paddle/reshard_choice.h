#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mesh/rank_list.h"
#include "sharding/paddle/dist_attr.h"

namespace simmesh::paddle {

// ProcessMeshLayout is the layout of a tensor, seen from outside of any rank: the ranks that hold
// it, their arrangement, and one placement for each mesh dim.
struct ProcessMeshLayout {
  Shape mesh_shape;
  RankList ranks;  // in mesh order
  Placements placements;

  bool has_mesh_of(const ProcessMeshLayout& other) const {
    return mesh_shape == other.mesh_shape && ranks == other.ranks;
  }
  bool operator==(const ProcessMeshLayout&) const = default;
};

// to_string returns "{process_mesh: {shape: [2], process_ids: [0,1]}, placements: [R]}".
std::string to_string(const ProcessMeshLayout& layout);

// ReshardFunction names a function that changes one layout into another, with Paddle's names.
enum class ReshardFunction : std::uint8_t {
  s_to_r,
  s_to_r_cross_mesh,
  s_to_p,
  s_to_p_cross_mesh,
  r_to_s,
  r_to_s_cross_mesh,
  r_to_p,
  r_to_p_cross_mesh,
  p_to_r,
  p_to_r_cross_mesh,
  p_to_s,
  p_to_s_cross_mesh,
  s_to_s,
  s_to_s_cross_mesh,
  x_to_r_shrink,       // a mesh of several ranks to one rank that holds all
  r_to_x_expand,       // one rank that holds all to a mesh of several
  same_status,         // the same layout, but for the reduction, on other ranks
  same_nd_mesh,        // another layout on the same mesh of several dims
  cross_nd_mesh,       // another layout on other ranks, in a mesh of the same shape
  global_to_sub_mesh,  // to one slice of the mesh, across which all is replicated
  sub_mesh_to_global,  // and back
};

// to_string returns Paddle's name: "SToRReshard", "GlobalToSubMeshReshardFunction".
std::string_view to_string(ReshardFunction function);

// choose_reshard returns the function that changes one layout into the other: the first that fits,
// in the order above; none where the layouts are equal (on a mesh of several dims with a partial
// reduction other than a sum it is same_nd_mesh, which then has nothing to do). The functions named
// by two letters need meshes of one dim: equal ones for the plain form, different ones of equal
// shape for the other. Raises a NotImplementedError that shows both layouts where none fits.
std::optional<ReshardFunction> choose_reshard(const ProcessMeshLayout& from,
                                              const ProcessMeshLayout& to);

// find_sub_mesh_dim returns the dim of a mesh along which another mesh is one slice. The other has
// size 1 there, or lacks the dim; a mesh that lacks the last dim doesn't count. Empty where it
// isn't a slice.
std::optional<std::size_t> find_sub_mesh_dim(const ProcessMeshLayout& global,
                                             const ProcessMeshLayout& sub);

// slice_of_mesh returns the ranks of a mesh at one coordinate of a dim, in mesh order.
std::vector<std::int64_t> slice_of_mesh(const ProcessMeshLayout& mesh, std::size_t dim,
                                        std::int64_t coordinate);

}  // namespace simmesh::paddle
