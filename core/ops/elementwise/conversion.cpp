#include "core/ops/elementwise/conversion.h"

#include <type_traits>

#include "core/arithmetic/unrounded.h"
#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/compute_mode.h"
#include "core/ops/op_list.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

namespace {

const Op to_copy_op = {
    .name = "_to_copy",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes& attributes) -> TensorTypes {
      return {{inputs[0].shape, attributes.get(attribute::dtype)}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          auto dtype = attributes.get(attribute::dtype);
          if (keeps_unrounded() && is_unrounded(inputs[0]) && is_floating_point(dtype))
            write_unrounded(outputs[0], unrounded(inputs[0]));
          else
            adopt_(outputs[0], converted(inputs[0], dtype).contiguous());
        },
    .moves = true,
};

// Returns the element as a tensor without dims; for a tensor cut over a mesh every rank gets it.
const Op item_op = {
    .name = "_local_scalar_dense",
    .shape = [](gsl::span<const TensorType> inputs, const Attributes&) -> TensorTypes {
      std::int64_t count = numel(inputs[0].shape);
      if (count != 1)
        raise(ErrorKind::runtime_error, "item",
              "a Tensor with {} elements cannot be converted to Scalar", count);
      return {{{}, inputs[0].dtype}};
    },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          adopt_(outputs[0], inputs[0].contiguous().view({}));
        },
};

}  // namespace

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return call_one(to_copy_op, {x}, {attribute::dtype = dtype});
}

Number item(const Tensor& x) {
  Tensor element = known_tensor(call_one(item_op, {x.detach()}).local_part(), "item");
  return visit_dtype(element.dtype(), [&]<class T>(T) -> Number {
    if constexpr (std::is_integral_v<T>)
      return element.values<T>()[0];
    else
      return double(element.values<T>()[0]);
  });
}

Tensor converted_unrounded(const Tensor& tensor, DType dtype) {
  Tensor result = converted(tensor, dtype);
  bool goes_on = keeps_unrounded() && is_floating_point(dtype) && result.has_elements() &&
                 tensor.dtype() != dtype && is_unrounded(tensor);
  if (goes_on) write_unrounded(result, unrounded(tensor));
  return result;
}

void conversion_ops(OpList& ops) { ops.add({&to_copy_op, &item_op}); }

}  // namespace simmesh
