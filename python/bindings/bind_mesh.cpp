#include <algorithm>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "collectives/process_group.h"
#include "python/bindings/as_rank.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/casts/mesh_dim.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Names = std::vector<std::string>;

DeviceMesh mesh_of(const Dims& shape, const Names& names, std::int64_t rank,
                   const std::optional<std::vector<std::int64_t>>& ranks) {
  std::int64_t size = numel(shape);
  if (!ranks) return DeviceMesh::init({.rank = rank, .world_size = size}, shape, names);
  std::int64_t world_size = size;
  for (std::int64_t member : *ranks) world_size = std::max(world_size, member + 1);
  return DeviceMesh::from_ranks({.rank = rank, .world_size = world_size}, RankList::of(*ranks),
                                shape, names);
}

std::int64_t size_of(const DeviceMesh& mesh, const std::optional<MeshDimWord>& dim) {
  return dim ? mesh.size(mesh_dim_of(*dim)) : mesh.size();
}

void bind_views(nb::class_<DeviceMesh>& mesh) {
  mesh.def(
          "__getitem__",
          [](const DeviceMesh& self, const std::variant<std::string, Names>& names) {
            const auto* one = std::get_if<std::string>(&names);
            return self[one ? DimNames(*one) : DimNames(std::get<1>(names))];
          },
          "mesh_dim_names"_a, "The mesh of one named dim or several, through this rank.")
      .def(
          "flatten",
          [](const DeviceMesh& self, const std::optional<std::string>& name) {
            return self.flatten(name.value_or(""));
          },
          "mesh_dim_name"_a = nb::none(),
          "All dims as one; the root keeps it, so that redistributions may use it.")
      .def(
          "unflatten",
          [](const DeviceMesh& self, const MeshDimWord& dim, const Dims& sizes,
             const Names& names) { return self.unflatten(mesh_dim_of(dim), sizes, names); },
          "dim"_a, "mesh_sizes"_a, "mesh_dim_names"_a, "Splits one dim into several.");
}

void bind_ranks_of(nb::class_<DeviceMesh>& mesh) {
  mesh.def("get_rank", &DeviceMesh::get_rank, "The rank that looks at the mesh.")
      .def("get_coordinate", &DeviceMesh::get_coordinate,
           "Where that rank stands; None outside the mesh.")
      .def(
          "get_local_rank",
          [](const DeviceMesh& self, const std::optional<MeshDimWord>& dim) {
            return dim ? self.get_local_rank(mesh_dim_of(*dim)) : self.get_local_rank();
          },
          "mesh_dim"_a = nb::none(), "That rank's coordinate on one dim.")
      .def(
          "get_group_ranks",
          [](const DeviceMesh& self, const std::optional<MeshDimWord>& dim) {
            RankList ranks = dim ? self.get_group_ranks(mesh_dim_of(*dim)) : self.get_group_ranks();
            return ranks.to_vector();
          },
          "mesh_dim"_a = nb::none(), "The members of that rank's group on one dim.")
      .def(
          "ranks", [](const DeviceMesh& self) { return self.ranks().to_vector(); },
          "All ranks of the mesh, row-major.")
      .def(
          "get_group",
          [](const DeviceMesh& self, const std::optional<MeshDimWord>& dim) {
            rank_of_run("DeviceMesh.get_group");
            return dim ? process_group(self, mesh_dim_of(*dim)) : process_group(self);
          },
          "mesh_dim"_a = nb::none(), "The group of this rank along one dim, in World.run.");
}

}  // namespace

void bind_mesh(nb::module_& module) {
  nb::class_<DeviceMesh> mesh(module, "DeviceMesh",
                              "An arrangement of ranks, as one rank sees it. Outside of World.run "
                              "it serves to plan;\ninside, init_device_mesh makes this rank's.");
  mesh.def(
          "__init__",
          [](DeviceMesh* self, const Dims& shape, const Names& names, std::int64_t rank,
             const std::optional<std::vector<std::int64_t>>& ranks) {
            new (self) DeviceMesh(mesh_of(shape, names, rank, ranks));
          },
          "mesh_shape"_a, "mesh_dim_names"_a = nb::tuple(), nb::kw_only(), "rank"_a = 0,
          "ranks"_a = nb::none(),
          "Arranges ranks row-major, as the given rank sees it: 0, 1, ..., or those that are "
          "listed.")
      .def_prop_ro("shape", &DeviceMesh::shape, "Its sizes.")
      .def_prop_ro("ndim", &DeviceMesh::ndim, "The number of its dims.")
      .def_prop_ro(
          "mesh_dim_names",
          [](const DeviceMesh& self) -> std::optional<nb::typed<nb::tuple, nb::str, nb::ellipsis>> {
            if (self.names().empty()) return std::nullopt;
            nb::object names = nb::cast(self.names());
            return nb::borrow<nb::typed<nb::tuple, nb::str, nb::ellipsis>>(nb::tuple(names));
          },
          "The names of its dims; None where they have none.")
      .def("size", &size_of, "mesh_dim"_a = nb::none(),
           "The number of ranks, or of those along one dim.")
      .def("__str__", [](const DeviceMesh& self) { return to_string(self); })
      .def("__repr__", [](const DeviceMesh& self) { return to_string(self); })
      .def("__hash__", [](const DeviceMesh& self) { return self.hash(); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  bind_views(mesh);
  bind_ranks_of(mesh);
  module.def(
      "init_device_mesh",
      [](const Dims& shape, const Names& names) {
        rank_of_run("init_device_mesh");
        return init_device_mesh(shape, names);
      },
      "mesh_shape"_a, "mesh_dim_names"_a = nb::tuple(),
      "Arranges the ranks 0, 1, ... of the run row-major, as this rank sees them.");
}

}  // namespace simmesh::python
