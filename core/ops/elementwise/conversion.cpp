#include "core/ops/elementwise/conversion.h"

#include "core/arithmetic/unrounded.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/gradient_call.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

const Op to_copy_op = {
    .name = "_to_copy",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {{inputs[0].shape, attributes.get<DType>("dtype")}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          auto dtype = attributes.get<DType>("dtype");
          if (keeps_unrounded() && is_unrounded(inputs[0]) && is_floating_point(dtype))
            write_unrounded(outputs[0], unrounded(inputs[0]));
          else
            adopt_(outputs[0], converted(inputs[0], dtype).contiguous());
        },
    .gradient = [](const GradientCall& call) -> Gradients {
      DType dtype = call.input_type(0).dtype;
      if (!is_floating_point(dtype)) return {Tensor()};
      return {to(call.gradient(), dtype)};
    },
    .moves = true,
};

const Op* const conversion_list[] = {&to_copy_op};

}  // namespace

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return call_one(to_copy_op, {x}, {{"dtype", dtype}});
}

gsl::span<const Op* const> conversion_ops() { return conversion_list; }

}  // namespace simmesh
