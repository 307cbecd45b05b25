#include "core/ops/kernels/function_op.h"

#include "core/tensor/convert.h"

namespace simmesh {

Op function_op(Function function) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
    DType dtype = inputs[0].dtype;
    return {{inputs[0].shape, is_floating_point(dtype) ? dtype : DType::float32}};
  };
  auto kernel = [function](gsl::span<const Tensor> inputs, const Attributes&,
                           gsl::span<Tensor> outputs) {
    Tensor x = converted(inputs[0].contiguous(), outputs[0].dtype());
    apply_function({.function = function,
                    .dtype = x.dtype(),
                    .operand = x.data(),
                    .result = outputs[0].mutable_data(),
                    .count = x.numel()});
  };
  return {.name = std::string(to_string(function)), .shape = shape, .kernel = kernel};
}

Op made_op(std::string name, ChunkLoops loops) {
  return pointwise_op({.name = std::move(name),
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = std::move(loops)});
}

}  // namespace simmesh
