#pragma once

#include <nanobind/nanobind.h>

#include "core/arithmetic/companions/exact_values.h"

namespace simmesh::python {

// matrix_product returns the unrounded elements of [(batch,) m, k] times [(batch,) k, n], tensors
// of torch. Raises a ValueError for shapes that don't go together, and a TypeError for complex
// elements.
ExactValues matrix_product(nanobind::handle a, nanobind::handle b);

}  // namespace simmesh::python
