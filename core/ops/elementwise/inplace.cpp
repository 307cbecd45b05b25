#include "core/ops/elementwise/inplace.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/op_list.h"
#include "core/ops/promotion.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

// Returns the type of self, whatever is written into it.
TensorTypes self_type(gsl::span<const TensorType> inputs, const Attributes&) {
  if (inputs.size() > 1) {
    TensorType both[] = {inputs[0], inputs[1]};
    if (broadcast_shapes(both) != inputs[0].shape)
      raise(ErrorKind::runtime_error, "copy_",
            "expected a source that broadcasts to the shape {}, got {}",
            to_string(DimSpan(inputs[0].shape)), to_string(DimSpan(inputs[1].shape)));
  }
  return {inputs[0]};
}

Tensor broadcast(const Tensor& x, const Shape& shape) {
  Strides strides(shape.size(), 0);
  std::size_t added = shape.size() - x.shape().size();
  for (std::size_t dim = 0; dim < x.shape().size(); ++dim)
    if (x.shape()[dim] != 1) strides[added + dim] = x.strides()[dim];
  return Tensor(x.storage(), x.dtype(), shape, strides, x.storage_offset());
}

const Op copy_op = {
    .name = "copy",
    .shape = self_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          Tensor source = converted_unrounded(inputs[1], outputs[0].dtype());
          copy_(outputs[0], broadcast(source, outputs[0].shape()));
        },
    .moves = true,
    .writes_alike = true,
};

const Op fill_op = {
    .name = "fill",
    .shape = self_type,
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes& attributes,
           gsl::span<Tensor> outputs) {
          DType dtype = outputs[0].dtype();
          Tensor value;
          if (inputs.size() > 1) {
            value = converted(inputs[1], dtype);
          } else {
            Number number = *attributes.number_in(attribute::value);
            Tensor wide = number.is_floating()
                              ? tensor_of<double>({}, {number.as<double>()})
                              : tensor_of<std::int64_t>({}, {number.as<std::int64_t>()});
            value = converted(wide, dtype);
          }
          copy_(outputs[0], broadcast(value, outputs[0].shape()));
        },
    .moves = true,
    .writes_alike = true,
};

}  // namespace

Tensor& fill_(Tensor& self, Number value) {
  return call_in_place(fill_op, self, {self}, {attribute::value = value});
}
Tensor& fill_(Tensor& self, const Tensor& value) {
  if (value.dim() != 0)
    raise(ErrorKind::runtime_error, "fill_",
          "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
          value.dim());
  // A value among the elements that are written is read before.
  bool is_own = value.storage() && value.storage() == self.storage();
  return call_in_place(fill_op, self, {self, is_own ? clone(value) : value});
}
Tensor& zero_(Tensor& self) { return fill_(self, 0); }

Tensor& copy_from_(Tensor& self, const Tensor& source) {
  return call_in_place(copy_op, self, {self, source});
}

void inplace_ops(OpList& ops) { ops.add({&copy_op, &fill_op}); }

}  // namespace simmesh
