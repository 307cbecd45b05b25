#include "core/ops/indexing/view_scattering.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/dim_list.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Part = Tensor (*)(const Tensor& whole, const Attributes& attributes);
using PartShape = Shape (*)(const Shape& whole, const Attributes& attributes);

Op writing_op(const char* name, Part part, PartShape part_shape) {
  return {
      .name = name,
      .shape = [=](gsl::span<const TensorType> inputs,
                   const Attributes& attributes) -> TensorTypes {
        Shape expected = part_shape(inputs[0].shape, attributes);
        if (inputs[1].shape != expected)
          raise(ErrorKind::runtime_error, name,
                "expected src to have a size equal to the slice of self. src size = {}, slice "
                "size = {}",
                to_string(DimSpan(inputs[1].shape)), to_string(DimSpan(expected)));
        return {inputs[0]};
      },
      .kernel =
          [=](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
            copy_(outputs[0], inputs[0]);
            Tensor target = part(outputs[0], attributes);
            copy_(target, converted(inputs[1], target.dtype()));
          },
  };
}

Shape selected_shape(const Shape& whole, const Attributes& attributes) {
  Shape shape = whole;
  std::int64_t dim = attributes.get(attribute::dim);
  std::int64_t size = shape[std::size_t(dim)], index = attributes.get(attribute::index);
  if (index < -size || index >= size)
    raise(ErrorKind::index_error, "select_scatter",
          "index {} is out of bounds for dimension {} with size {}", index, dim, size);
  shape.erase(shape.begin() + dim);
  return shape;
}

Tensor selected(const Tensor& whole, const Attributes& attributes) {
  return select(whole, attributes.get(attribute::dim), attributes.get(attribute::index));
}

Shape sliced_shape(const Shape& whole, const Attributes& attributes) {
  Shape shape = whole;
  SliceRange range = slice_of(attributes, whole);
  std::int64_t length = range.end - range.start;
  shape[std::size_t(range.dim)] = length / range.step + (length % range.step != 0);
  return shape;
}

Tensor sliced(const Tensor& whole, const Attributes& attributes) {
  return slice(whole, slice_of(attributes, whole.shape()));
}

const Op select_scatter_op = writing_op("select_scatter", selected, selected_shape);
const Op slice_scatter_op = writing_op("slice_scatter", sliced, sliced_shape);

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& source, std::int64_t dim, std::int64_t index) {
  if (x.dim() == 0)
    raise(ErrorKind::index_error, "select_scatter",
          "select() cannot be applied to a 0-dim tensor.");
  return call_one(select_scatter_op, {x, source},
                  {attribute::dim = wrapped_dim(dim, x.shape().size()), attribute::index = index});
}

Tensor slice_scatter(const Tensor& x, const Tensor& source, const SliceRange& range) {
  return call_one(slice_scatter_op, {x, source},
                  slice_attributes(slice_of(slice_attributes(range), x.shape())));
}

void view_scattering_ops(OpList& ops) { ops.add({&select_scatter_op, &slice_scatter_op}); }

}  // namespace simmesh
