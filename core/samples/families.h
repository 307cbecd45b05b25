#pragma once

#include <gsl/span>

#include "core/samples/op_sample.h"

namespace simmesh {

// along returns the arguments of an op that only has a dim.
inline Attributes along(std::int64_t dim) { return {{"dim", dim}}; }

// The sample calls of the library's ops, one list for each folder below core/ops. Each op has at
// least one; together they use every argument of the op. samples_of joins them.
gsl::span<const OpSample> elementwise_samples();
gsl::span<const OpSample> indexing_samples();
gsl::span<const OpSample> matrix_samples();
gsl::span<const OpSample> neural_samples();
gsl::span<const OpSample> random_samples();
gsl::span<const OpSample> reduction_samples();
gsl::span<const OpSample> shape_samples();

}  // namespace simmesh
