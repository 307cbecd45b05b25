#include "verify/pytorch/ops/call_arguments.h"

#include "core/check/error.h"

namespace simmesh {

SliceRange slice_range(const PythonCall& call) {
  SliceRange range{.dim = call.integer("dim"), .step = call.integer("step")};
  if (call.has("start")) range.start = call.integer("start");
  if (call.has("end")) range.end = call.integer("end");
  return range;
}

RowsColumns rows_columns(const PythonCall& call, std::string_view name) {
  Dims dims = call.dims(name);
  if (dims.empty() || dims.size() > 2)
    raise(ErrorKind::runtime_error, "verify/pytorch", "expected one or two numbers as {}, got {}",
          name, dims.size());
  return {dims.front(), dims.back()};
}

PythonValue values_and_indices(const ValuesAndIndices& found) {
  return std::vector<Tensor>{found.values, found.indices};
}

PythonValue values_and_indices(const Sorted& found) {
  return std::vector<Tensor>{found.values, found.indices};
}

}  // namespace simmesh
