#include "python/bindings/casts/placement_list.h"

namespace simmesh::python {

namespace nb = nanobind;

Placements placements_of(const PlacementList& list) {
  if (const auto* text = std::get_if<std::string>(&list)) return parse_placements(*text);
  Placements placements;
  for (const auto& entry : std::get<1>(list)) {
    const auto* text = std::get_if<std::string>(&entry);
    placements.push_back(text ? parse_placement(*text) : std::get<Placement>(entry));
  }
  return placements;
}

nb::typed<nb::tuple, Placement, nb::ellipsis> tuple_of(PlacementSpan placements) {
  nb::list list;
  for (const Placement& placement : placements) list.append(nb::cast(placement));
  return nb::borrow<nb::typed<nb::tuple, Placement, nb::ellipsis>>(nb::tuple(list));
}

}  // namespace simmesh::python
