#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace simmesh {

// has_bits_but_zero_signs is true if a tensor has the hash of a case (bits_text) once some of its
// zeros have another sign. The sign of a sum of zero depends on the library that adds: a product of
// one column and one row has no sums for some, and sums that start from +0 for others. With more
// than 46 zeros only signs like those of such a product are looked for.
bool has_bits_but_zero_signs(const Tensor& tensor, const std::string& hash);

}  // namespace simmesh
