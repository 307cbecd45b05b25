#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <tuple>

#include "core/arithmetic/companions/exact_values.h"

namespace simmesh::python {

// ValuesState are exact values as pickles have them, for processes of one machine: the bytes of
// `high`, `low`, `wide_places` and of the digits of `wide`, then the position of the lowest digit,
// the divisor, and whether they are roots (see ExactContent).
using ValuesState = std::tuple<nanobind::bytes, nanobind::bytes, nanobind::bytes, nanobind::bytes,
                               int, std::int64_t, bool>;

ValuesState state_of(const ExactValues& values);

// values_of returns the values of a state. Raises a ValueError for parts that don't fit together.
ExactValues values_of(const ValuesState& state);

}  // namespace simmesh::python
