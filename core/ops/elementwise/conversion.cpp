#include "core/ops/elementwise/conversion.h"

#include "core/arithmetic/unrounded.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
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
    .moves = true,
};

const Op* const conversion_list[] = {&to_copy_op};

}  // namespace

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return call_one(to_copy_op, {x}, {{"dtype", dtype}});
}

Tensor converted_unrounded(const Tensor& tensor, DType dtype) {
  Tensor result = converted(tensor, dtype);
  bool goes_on = keeps_unrounded() && is_floating_point(dtype) && result.has_elements() &&
                 tensor.dtype() != dtype && is_unrounded(tensor);
  if (goes_on) write_unrounded(result, unrounded(tensor));
  return result;
}

gsl::span<const Op* const> conversion_ops() { return conversion_list; }

}  // namespace simmesh
