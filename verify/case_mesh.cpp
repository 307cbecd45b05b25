#include "verify/case_mesh.h"

#include <algorithm>
#include <fmt/format.h>

namespace simmesh {

Schema mesh_schema() {
  using namespace schema;
  return named("mesh", [] {
    return object({required("shape", list(integer(), {.max = 64})),
                   optional("ranks", list(integer())),
                   optional("names", or_null(list(any_text(), {.max = 64})))});
  });
}

Schema world_schema() { return schema::integer({.min = 1, .max = world_max}); }

RankList CaseMesh::rank_list() const {
  return ranks ? RankList::of(*ranks) : RankList::range(numel(shape));
}

DeviceMesh CaseMesh::view(std::int64_t rank) const {
  MeshViewer viewer{.rank = rank, .world_size = world};
  return ranks ? DeviceMesh::from_ranks(viewer, rank_list(), shape, names)
               : DeviceMesh::init(viewer, shape, names);
}

CaseMesh read_mesh(const RecordedCase& recorded) { return read_mesh(recorded.root()); }

CaseMesh read_fitting_mesh(const RecordedCase& recorded) {
  return read_fitting_mesh(recorded.root());
}

CaseMesh read_mesh_at(const CaseField& owner, std::string_view name) {
  CaseField field = owner[name];
  CaseMesh mesh;
  mesh.shape = field["shape"].dims();
  if (auto ranks = field.find("ranks")) mesh.ranks = ranks->integers();
  if (auto names = field.find("names"); names && !names->is_null()) mesh.names = names->texts();
  if (auto world = owner.find("world")) {
    mesh.world = world->integer({.min = 1, .max = world_max});
    return mesh;
  }
  mesh.world = std::max<std::int64_t>(numel(field["shape"].shape()), 1);
  if (mesh.world > world_max) field["shape"].reject("a mesh of at most 2^20 ranks");
  return mesh;
}

CaseMesh read_mesh(const CaseField& owner) { return read_mesh_at(owner, "mesh"); }

CaseMesh read_fitting_mesh(const CaseField& owner) {
  CaseMesh mesh = read_mesh(owner);
  CaseField shape = owner["mesh"]["shape"];
  bool is_whole = std::all_of(mesh.shape.begin(), mesh.shape.end(),
                              [](std::int64_t size) { return size >= 1; });
  if (!is_whole || numel(shape.shape()) > mesh.world)
    shape.reject(fmt::format("sizes that multiply to at most {} ranks", mesh.world));
  return mesh;
}

}  // namespace simmesh
