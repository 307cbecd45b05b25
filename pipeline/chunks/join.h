#pragma once

#include <functional>
#include <gsl/span>

#include "core/tensor/tensor.h"

namespace simmesh::pipeline {

// join_chunks concatenates the outputs of micro-batches along a dim. Raises an IndexError for a dim
// that they don't have, a RuntimeError where other sizes differ, and a ValueError without outputs.
Tensor join_chunks(gsl::span<const Tensor> outputs, std::int64_t dim = 0);

// reduce_chunks folds outputs from first to last, starting with an initial value.
Tensor reduce_chunks(gsl::span<const Tensor> outputs, Tensor initial,
                     const std::function<Tensor(const Tensor&, const Tensor&)>& reduce);

}  // namespace simmesh::pipeline
