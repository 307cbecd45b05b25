#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <variant>
#include <vector>

#include "sharding/placement/placement.h"

namespace simmesh::python {

// PlacementList is how Python names a list of placements: "S(0),R", or a sequence of placements and
// of texts.
using PlacementList = std::variant<std::string, std::vector<std::variant<Placement, std::string>>>;

// placements_of returns the placements. Raises a ValueError for a text that can't be read.
Placements placements_of(const PlacementList& list);

// tuple_of returns placements as Python has them.
nanobind::typed<nanobind::tuple, Placement, nanobind::ellipsis> tuple_of(PlacementSpan placements);

}  // namespace simmesh::python
