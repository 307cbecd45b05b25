#include "core/ops/elementwise/function_op.h"

#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/convert.h"

namespace simmesh {

Op function_op(const FunctionOp& definition) {
  auto shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
    DType dtype = inputs[0].dtype;
    return {{inputs[0].shape, is_floating_point(dtype) ? dtype : DType::float32}};
  };
  auto kernel = [function = definition.function](gsl::span<const Tensor> inputs, const Attributes&,
                                                 gsl::span<Tensor> outputs) {
    Tensor x = converted(inputs[0].contiguous(), outputs[0].dtype());
    apply_function({.function = function,
                    .dtype = x.dtype(),
                    .operand = x.data(),
                    .result = outputs[0].mutable_data(),
                    .count = x.element_count()});
  };
  return {.name = std::string(to_string(definition.function)),
          .shape = shape,
          .kernel = kernel,
          .gradient = definition.gradient,
          .saves = definition.saves};
}

Op made_op(MadeOp made) {
  return pointwise_op({.name = std::move(made.name),
                       .result = PointwiseResult::floating,
                       .in_double = true,
                       .loops = std::move(made.loops),
                       .gradient = std::move(made.gradient),
                       .saves = made.saves});
}

GradientRule slope_by_input(Slope slope) {
  return [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.input(0)), call.input_type(0).dtype)};
  };
}

GradientRule slope_by_output(Slope slope) {
  return [slope](const GradientCall& call) -> Gradients {
    return {to(call.gradient() * slope(call.output()), call.input_type(0).dtype)};
  };
}

}  // namespace simmesh
