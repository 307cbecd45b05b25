#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/bindings/as_rank.h"
#include "python/bindings/bindings.h"
#include "python/bindings/casts/dims_caster.h"
#include "python/bindings/casts/placement_list.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

DTensor redistributed(const DTensor& self, const PlacementList& to, bool async_op,
                      const std::string& planner) {
  RedistributeOptions options{.planner = planner_choice_from_string(planner), .is_async = async_op};
  return as_rank("DTensor.redistribute", [&](const CallSite& site) {
    return self.redistribute(placements_of(to), options, site);
  });
}

DTensor of_pieces(const Tensor& local, const DeviceMesh& mesh, const PlacementList& placements,
                  bool run_check, const std::optional<Dims>& shape) {
  FromLocalOptions options{.shape = shape, .check_shapes = run_check};
  return as_rank("DTensor.from_local", [&](const CallSite& site) {
    return from_local(local, mesh, placements_of(placements), options, site);
  });
}

DTensor distributed(const Tensor& tensor, const DeviceMesh& mesh, const PlacementList& placements,
                    const std::optional<std::int64_t>& src_data_rank) {
  if (src_data_rank.value_or(0) != 0)
    raise(ErrorKind::value_error, "python/distribute_tensor",
          "src_data_rank: expected 0 or None, got {}", *src_data_rank);
  DistributeOptions options{.from_first_rank = src_data_rank.has_value()};
  return as_rank("distribute_tensor", [&](const CallSite& site) {
    return distribute_tensor(tensor, mesh, placements_of(placements), options, site);
  });
}

std::string repr(const DTensor& self) {
  return fmt::format("DTensor({}{}, {} on {})", to_string(self.dtype()),
                     to_string(DimSpan(self.shape())), to_string(PlacementSpan(self.placements())),
                     to_string(self.mesh()));
}

void bind_description(nb::class_<DTensor>& tensor) {
  tensor.def_prop_ro("shape", &DTensor::shape, "The sizes of the whole tensor.")
      .def_prop_ro(
          "dtype", [](const DTensor& self) { return std::string(to_string(self.dtype())); },
          "PyTorch's name of the type of its elements: \"float32\".")
      .def_prop_ro("device_mesh", &DTensor::mesh, "The mesh that it is spread over.")
      .def_prop_ro(
          "placements", [](const DTensor& self) { return tuple_of(self.placements()); },
          "How it is spread: one placement a mesh dim.")
      .def("__repr__", &repr);
}

}  // namespace

void bind_dtensor(nb::module_& module) {
  nb::class_<DTensor> tensor(
      module, "DTensor",
      "A logical array spread over a mesh, as one rank holds it. Used by that "
      "rank, in World.run.");
  bind_description(tensor);
  tensor
      .def(
          "to_local",
          [](const DTensor& self) {
            return as_rank("DTensor.to_local", [&](const CallSite&) { return self.to_local(); });
          },
          "This rank's piece. Waits for a redistribution that is under way.")
      .def(
          "redistribute", &redistributed, "placements"_a, nb::kw_only(), "async_op"_a = false,
          "planner"_a = "automatic",
          "The same logical tensor with other placements: collectives among the ranks of the mesh. "
          "With\nasync_op the last one is left under way, and the first use of the result waits. "
          "Raises PyTorch's\nexceptions for what it refuses.")
      .def(
          "full_tensor",
          [](const DTensor& self) {
            return as_rank("DTensor.full_tensor",
                           [&](const CallSite& site) { return self.full_tensor({}, site); });
          },
          "The whole logical tensor, on every rank.")
      .def(
          "redistribute_cost_us",
          [](const DTensor& self, const PlacementList& to) {
            return self.redistribute_cost_us(placements_of(to));
          },
          "placements"_a, "What the planner says such a redistribution costs, in microseconds.")
      .def_static(
          "from_local", &of_pieces, "local_tensor"_a, "device_mesh"_a, "placements"_a,
          nb::kw_only(), "run_check"_a = true, "shape"_a = nb::none(),
          "A DTensor of the ranks' own pieces. Without a shape each local size counts once a "
          "rank that\nshards it; with run_check the ranks compare the shapes they infer.");
  module.def("distribute_tensor", &distributed, "tensor"_a, "device_mesh"_a, "placements"_a,
             nb::kw_only(), "src_data_rank"_a = 0,
             "Cuts a tensor that a rank holds whole into pieces. The first rank of every mesh dim "
             "sends its\ntensor to the others; with src_data_rank=None every rank cuts its own.");
}

}  // namespace simmesh::python
