#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>

#include "python/bindings/bindings.h"
#include "python/bindings/casts/placement_list.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// Prints a placement as a program would write it, so that a repr can be pasted.
std::string repr(const Placement& placement) {
  switch (placement.kind()) {
    case Placement::Kind::replicate: return "Replicate()";
    case Placement::Kind::shard: return fmt::format("Shard({})", placement.dim());
    case Placement::Kind::strided_shard:
      return fmt::format("StridedShard({}, {})", placement.dim(), placement.split_factor());
    case Placement::Kind::partial:
      return fmt::format("Partial(\"{}\")", to_string(placement.reduce_op()));
    default: return fmt::format("Placement(\"{}\")", to_string(placement));
  }
}

bool is_shard(const Placement& placement, std::optional<std::int64_t> dim) {
  return dim ? placement.is_shard(*dim) : placement.is_shard();
}

bool is_partial(const Placement& placement, const std::optional<std::string>& reduce_op) {
  return placement.is_partial() &&
         (!reduce_op || placement.reduce_op() == reduce_op_from_string(*reduce_op));
}

void bind_class(nb::module_& module) {
  nb::class_<Placement>(
      module, "Placement",
      "What the ranks along one mesh dim hold of a logical tensor. A sharding is a "
      "list with one\nplacement a mesh dim, outermost first. Immutable, and equal "
      "to others that say the same.")
      .def(
          "__init__",
          [](Placement* self, const std::string& text) {
            new (self) Placement(parse_placement(text));
          },
          "text"_a,
          "Reads \"R\", \"S(0)\", \"_S(0,2)\", \"P(sum)\", \"MaskP\", \"NormP(2)\" or "
          "\"Ragged([1,0,2])\".")
      .def("is_replicate", &Placement::is_replicate, "Whether every rank holds all of it.")
      .def("is_shard", &is_shard, "dim"_a = nb::none(),
           "Whether it is a plain shard, of that tensor dim if one is given.")
      .def("is_partial", &is_partial, "reduce_op"_a = nb::none(),
           "Whether it is a Partial placement, by that op if one is given.")
      .def_prop_ro(
          "dim",
          [](const Placement& self) {
            return self.splits() ? std::optional(self.dim()) : std::nullopt;
          },
          "The tensor dim that is split; None where none is.")
      .def_prop_ro(
          "reduce_op",
          [](const Placement& self) {
            return self.is_partial() ? std::optional(std::string(to_string(self.reduce_op())))
                                     : std::nullopt;
          },
          "The op that finishes a partial placement; None for others.")
      .def_prop_ro("split_factor", &Placement::split_factor,
                   "That of a strided shard; 1 for others.")
      .def("__str__", [](const Placement& self) { return to_string(self); })
      .def("__repr__", &repr)
      .def("__hash__", [](const Placement& self) { return hash_value(self); })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
}

}  // namespace

void bind_placement(nb::module_& module) {
  bind_class(module);
  module.def("Replicate", &Replicate, "Every rank holds the whole tensor.");
  module.def("Shard", &Shard, "dim"_a, "Every rank holds a contiguous chunk of that tensor dim.");
  module.def("StridedShard", &StridedShard, "dim"_a, "split_factor"_a,
             "The dim is cut into split_factor chunks, of each of which every rank holds a chunk.");
  module.def(
      "Partial",
      [](const std::string& reduce_op) { return Partial(reduce_op_from_string(reduce_op)); },
      "reduce_op"_a = "sum", "Every rank holds an operand of a reduction that is partial.");
  module.def(
      "parse_placements", [](const std::string& text) { return tuple_of(parse_placements(text)); },
      "text"_a, "Reads a list of placements: \"S(0),R\".");
}

}  // namespace simmesh::python
