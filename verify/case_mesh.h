#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/device_mesh.h"
#include "verify/recorded_case.h"
#include "verify/schema.h"

namespace simmesh {

// world_max bounds the world of a case.
inline constexpr std::int64_t world_max = 1 << 20;

// CaseMesh is the mesh of a case: {"shape":[..]}, with "ranks" where they aren't 0..n-1 and "names"
// where it has some.
struct CaseMesh {
  Shape shape;
  std::optional<std::vector<std::int64_t>> ranks;
  std::vector<std::string> names;
  std::int64_t world = 1;

  // rank_list returns the ranks in mesh order. Raises a ValueError where they aren't ranks or one
  // comes twice.
  RankList rank_list() const;

  // view returns the mesh as one rank sees it; raises as DeviceMesh::from_ranks does.
  DeviceMesh view(std::int64_t rank) const;
};

// read_mesh reads the fields "mesh" and "world" of a case; without "world" the world is as large as
// the mesh. Raises a BadCase for fields of another type and for worlds above world_max. view finds
// a mesh that isn't one.
CaseMesh read_mesh(const RecordedCase& recorded);

// read_fitting_mesh reads the same; also raises a BadCase for sizes below 1 and for a mesh that is
// larger than the world.
CaseMesh read_fitting_mesh(const RecordedCase& recorded);

// Reads the same fields of an object within a case.
CaseMesh read_mesh(const CaseField& owner);
CaseMesh read_fitting_mesh(const CaseField& owner);

// read_mesh_at reads a mesh in another field than "mesh"; its world is as large as it needs.
CaseMesh read_mesh_at(const CaseField& owner, std::string_view name);

// mesh_schema is the field "mesh", world_schema the field "world". Sizes that make no mesh are left
// to view, which refuses them as PyTorch does.
Schema mesh_schema();
Schema world_schema();

}  // namespace simmesh
