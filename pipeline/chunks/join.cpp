#include "pipeline/chunks/join.h"

#include "core/check/error.h"
#include "core/ops/shapes/joining.h"

namespace simmesh::pipeline {

Tensor join_chunks(gsl::span<const Tensor> outputs, std::int64_t dim) {
  if (outputs.empty())
    raise(ErrorKind::value_error, "pipeline/join", "expected at least one output, got none");
  return cat(outputs, dim);
}

Tensor reduce_chunks(gsl::span<const Tensor> outputs, Tensor initial,
                     const std::function<Tensor(const Tensor&, const Tensor&)>& reduce) {
  for (const Tensor& output : outputs) initial = reduce(initial, output);
  return initial;
}

}  // namespace simmesh::pipeline
