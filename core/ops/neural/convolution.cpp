#include "core/ops/neural/convolution.h"

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/kernels/matrix.h"
#include "core/ops/kernels/windows.h"
#include "core/ops/op_list.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

Dims as_dims(const RowsColumns& pair) { return {pair[0], pair[1]}; }

RowsColumns pair_of(const Attributes& attributes, const Attribute<Dims>& which) {
  const Dims& dims = attributes.get(which);
  SIMMESH_CHECK(dims.size() == 2, "expected rows and columns as {}, got {}", which.name,
                to_string(DimSpan(dims)));
  return {dims[0], dims[1]};
}

Attributes attributes_of(const Convolution2d& options) {
  Attributes attributes = {attribute::stride = as_dims(options.stride),
                           attribute::padding = as_dims(options.padding),
                           attribute::dilation = as_dims(options.dilation)};
  attributes.set(attribute::groups = options.groups);
  return attributes;
}

Windows windows_of(const Shape& x, const Shape& weight, const Convolution2d& options) {
  return {.image = {x[2], x[3]},
          .kernel = {weight[2], weight[3]},
          .stride = options.stride,
          .padding = options.padding,
          .dilation = options.dilation};
}

void check_shapes(const Shape& x, const Shape& weight, const Convolution2d& options) {
  if (x.size() != 4 || weight.size() != 4)
    raise(ErrorKind::runtime_error, "convolution",
          "Expected 3D (unbatched) or 4D (batched) input and a 4D weight, got {} and {}",
          to_string(DimSpan(x)), to_string(DimSpan(weight)));
  if (options.groups < 1 || weight[0] % options.groups != 0 || x[1] != weight[1] * options.groups)
    raise(ErrorKind::runtime_error, "convolution",
          "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} "
          "channels instead",
          options.groups, to_string(DimSpan(weight)), to_string(DimSpan(x)),
          weight[1] * options.groups, x[1]);
  windows_of(x, weight, options).check("convolution");
}

Shape output_shape(const Shape& x, const Shape& weight, const Convolution2d& options) {
  check_shapes(x, weight, options);
  RowsColumns windows = windows_of(x, weight, options).count();
  return {x[0], weight[0], windows[0], windows[1]};
}

TensorTypes convolution_type(Types inputs, const Attributes& attributes) {
  TensorType result = {output_shape(inputs[0].shape, inputs[1].shape, convolution_of(attributes)),
                       inputs[0].dtype};
  if (inputs[1].dtype != inputs[0].dtype || !is_floating_point(result.dtype))
    raise(ErrorKind::runtime_error, "convolution",
          "Input type ({}) and weight type ({}) should be the same, and floating",
          to_string(inputs[0].dtype), to_string(inputs[1].dtype));
  if (inputs.size() > 2 &&
      (inputs[2].shape != Shape{result.shape[1]} || inputs[2].dtype != result.dtype))
    raise(ErrorKind::runtime_error, "convolution",
          "Given weight of size {}, expected bias to be 1-dimensional with {} elements, but got "
          "bias of size {}{} instead",
          to_string(DimSpan(inputs[1].shape)), result.shape[1], to_string(inputs[2].dtype),
          to_string(DimSpan(inputs[2].shape)));
  return {result};
}

// One group of the channels of one image.
struct Part {
  std::int64_t image;
  std::int64_t group;
  std::int64_t groups;

  // of returns the group's channels of the image, [channels, ...].
  Tensor of(const Tensor& images) const {
    std::int64_t channels = images.size(1) / groups;
    Tensor whole = images.narrow({.dim = 0, .start = image, .length = 1}).squeeze(0);
    return whole.narrow({.dim = 0, .start = group * channels, .length = channels});
  }
};

// Returns the group's rows of a weight as a matrix [out, in * rows * columns].
Tensor weight_matrix(const Tensor& weight, std::int64_t group, std::int64_t groups) {
  std::int64_t rows = weight.size(0) / groups;
  return weight.narrow({.dim = 0, .start = group * rows, .length = rows})
      .view(Dims{rows, weight.size(1) * weight.size(2) * weight.size(3)});
}

void convolution_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor x = inputs[0].contiguous(), weight = inputs[1].contiguous();
  Tensor& out = outputs[0];
  if (out.numel() == 0) return;
  Convolution2d options = convolution_of(attributes);
  Windows windows = windows_of(x.shape(), weight.shape(), options);
  std::int64_t count = out.size(2) * out.size(3), rows = out.size(1) / options.groups;
  Tensor columns = empty({weight.size(1) * weight.size(2) * weight.size(3), count}, x.dtype());
  for (std::int64_t image = 0; image < x.size(0); ++image)
    for (std::int64_t group = 0; group < options.groups; ++group) {
      Part part{image, group, options.groups};
      unfold(part.of(x).data(), weight.size(1), x.dtype(), windows,
             {columns.mutable_data(), count});
      Tensor target = part.of(out).view(Dims{rows, count});
      Tensor factors = weight_matrix(weight, group, options.groups);
      if (inputs.size() == 2) {
        multiply(factors, columns, target);
        continue;
      }
      Tensor bias = inputs[2].narrow({.dim = 0, .start = group * rows, .length = rows});
      multiply_and_add(factors, columns, {bias.unsqueeze(1), {}}, target);
    }
}

// The gradient of a group's weight is one product over all windows of all images, in this order.
struct WeightProduct {
  Tensor gradient;  // [out, images * windows]
  Tensor columns;   // [images * windows, in * rows * columns]
};

WeightProduct weight_product(const Tensor& x, const Tensor& gradient, const Shape& weight,
                             const Convolution2d& options, std::int64_t group) {
  std::int64_t images = x.size(0), count = gradient.size(2) * gradient.size(3);
  std::int64_t rows = weight[0] / options.groups;
  Windows windows = windows_of(x.shape(), weight, options);
  Tensor columns = empty({weight[1] * weight[2] * weight[3], images * count}, x.dtype());
  std::int64_t bytes = std::int64_t(bytes_per_element(x.dtype()));
  for (std::int64_t image = 0; image < images; ++image)
    unfold(Part{image, group, options.groups}.of(x).data(), weight[1], x.dtype(), windows,
           {columns.mutable_data() + image * count * bytes, images * count});
  Tensor of_group = gradient.narrow({.dim = 1, .start = group * rows, .length = rows});
  return {of_group.transpose(0, 1).contiguous().view(Dims{rows, images * count}),
          columns.transpose(0, 1)};
}

const Op weight_op = {
    .name = "convolution_weight",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      const Dims& weight = attributes.get(attribute::weight_size);
      Shape expected = output_shape(inputs[0].shape, weight, convolution_of(attributes));
      if (inputs[1].shape != expected)
        raise(ErrorKind::runtime_error, "convolution_weight",
              "expected a gradient of the output's shape {}, got {}", to_string(DimSpan(expected)),
              to_string(DimSpan(inputs[1].shape)));
      return {{weight, inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          Tensor x = inputs[0].contiguous();
          Tensor& out = outputs[0];
          Convolution2d options = convolution_of(attributes);
          for (std::int64_t group = 0; group < options.groups; ++group) {
            WeightProduct product = weight_product(x, inputs[1], out.shape(), options, group);
            Tensor target = weight_matrix(out, group, options.groups);
            multiply(product.gradient, product.columns, target);
          }
        },
};

const Op convolution_op = {
    .name = "convolution",
    .shape = convolution_type,
    .kernel = convolution_kernel,
};

}  // namespace

Convolution2d convolution_of(const Attributes& attributes) {
  return {.stride = pair_of(attributes, attribute::stride),
          .padding = pair_of(attributes, attribute::padding),
          .dilation = pair_of(attributes, attribute::dilation),
          .groups = attributes.get(attribute::groups)};
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Convolution2d& options) {
  Attributes attributes = attributes_of(options);
  Tensor images = x.dim() == 3 ? unsqueeze(x, 0) : x;
  Tensor result = bias.is_defined() ? call_one(convolution_op, {images, weight, bias}, attributes)
                                    : call_one(convolution_op, {images, weight}, attributes);
  return x.dim() == 3 ? squeeze(result, 0) : result;
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Convolution1d& options) {
  if (x.dim() < 2 || x.dim() > 3 || weight.dim() != 3)
    raise(ErrorKind::runtime_error, "conv1d",
          "Expected 2D (unbatched) or 3D (batched) input and a 3D weight, got {} and {}",
          to_string(DimSpan(x.shape())), to_string(DimSpan(weight.shape())));
  return squeeze(conv2d(unsqueeze(x, -2), unsqueeze(weight, 2), bias,
                        {.stride = {1, options.stride},
                         .padding = {0, options.padding},
                         .dilation = {1, options.dilation},
                         .groups = options.groups}),
                 -2);
}

// The gradient of the input is a convolution of the gradient, spread by the stride, with the
// mirrored kernel, whose inputs and outputs are exchanged.
Tensor conv2d_input(DimSpan input_shape, const Tensor& weight, const Tensor& gradient,
                    const Convolution2d& options) {
  Tensor spread = gradient;
  Dims pads;
  for (std::size_t i = 2; i-- > 0;) {
    std::int64_t dim = std::int64_t(i) + 2;
    std::int64_t reach = options.dilation[i] * (weight.size(dim) - 1);
    std::int64_t size = (gradient.size(dim) - 1) * options.stride[i] + 1;
    if (options.stride[i] != 1) {
      Shape shape = spread.shape();
      shape[std::size_t(dim)] = size;
      spread = slice_backward(spread, shape, {.dim = dim, .step = options.stride[i]});
    }
    std::int64_t before = reach - options.padding[i];
    pads.push_back(before);
    pads.push_back(input_shape[std::size_t(dim)] + reach - before - size);
  }
  std::int64_t out = weight.size(0) / options.groups, in = weight.size(1);
  Tensor grouped = reshape(weight, {options.groups, out, in, weight.size(2), weight.size(3)});
  Tensor exchanged =
      reshape(transpose(grouped, 1, 2), {options.groups * in, out, weight.size(2), weight.size(3)});
  return conv2d(pad(spread, pads), flip(exchanged, {2, 3}), {},
                {.dilation = options.dilation, .groups = options.groups});
}

Tensor conv2d_weight(const Tensor& x, DimSpan weight_shape, const Tensor& gradient,
                     const Convolution2d& options) {
  Attributes attributes = attributes_of(options);
  attributes.set(attribute::weight_size = Dims(weight_shape.begin(), weight_shape.end()));
  return call_one(weight_op, {x, gradient}, attributes);
}

void convolution_ops(OpList& ops) { ops.add({&convolution_op, &weight_op}); }

}  // namespace simmesh
