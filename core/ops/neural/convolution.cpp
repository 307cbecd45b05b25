#include "core/ops/neural/convolution.h"

#include <algorithm>

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

constexpr std::size_t first_size = 2;  // before it are the batch and the channels
constexpr std::size_t sizes_max = 3;

// Returns the options with a number for each of so many dims.
Convolution spread(const Convolution& options, std::size_t dims) {
  Convolution result = options;
  for (Dims* numbers : {&result.stride, &result.padding, &result.dilation}) {
    if (numbers->size() == 1) numbers->assign(dims, (*numbers)[0]);
    if (numbers->size() != dims)
      raise(ErrorKind::runtime_error, "convolution",
            "expected stride, padding and dilation to be a single integer value or a list of {} "
            "values to match the convolution dimensions, but got {}",
            dims, to_string(DimSpan(*numbers)));
  }
  return result;
}

Attributes attributes_of(const Convolution& options) {
  Attributes attributes = {attribute::stride = options.stride, attribute::padding = options.padding,
                           attribute::dilation = options.dilation};
  attributes.set(attribute::groups = options.groups);
  return attributes;
}

// Signals and images are volumes with sizes of one before theirs.
VolumeWindows windows_of(const Shape& x, const Shape& weight, const Convolution& options) {
  VolumeWindows windows{.image = VolumeWindows::same(1)};
  std::size_t count = weight.size() - first_size, before = sizes_max - count;
  for (std::size_t i = 0; i < count; ++i) {
    windows.image[before + i] = x[first_size + i];
    windows.kernel[before + i] = weight[first_size + i];
    windows.stride[before + i] = options.stride[i];
    windows.padding[before + i] = options.padding[i];
    windows.dilation[before + i] = options.dilation[i];
  }
  return windows;
}

void check_shapes(const Shape& x, const Shape& weight, const Convolution& options) {
  std::size_t dims = weight.size();
  if (x.size() != dims || dims <= first_size || dims > first_size + sizes_max)
    raise(ErrorKind::runtime_error, "convolution",
          "expected an input, batched or not, and a weight of 3 to 5 dims that match it, got {} "
          "and {}",
          to_string(DimSpan(x)), to_string(DimSpan(weight)));
  if (options.groups < 1 || weight[0] % options.groups != 0 || x[1] != weight[1] * options.groups)
    raise(ErrorKind::runtime_error, "convolution",
          "Given groups={}, weight of size {}, expected input{} to have {} channels, but got {} "
          "channels instead",
          options.groups, to_string(DimSpan(weight)), to_string(DimSpan(x)),
          weight[1] * options.groups, x[1]);
  windows_of(x, weight, options).check("convolution");
}

Shape output_shape(const Shape& x, const Shape& weight, const Convolution& options) {
  check_shapes(x, weight, options);
  VolumeWindows::Numbers windows = windows_of(x, weight, options).count();
  Shape result = {x[0], weight[0]};
  result.insert(result.end(), windows.end() - std::ptrdiff_t(weight.size() - first_size),
                windows.end());
  return result;
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
struct ImageGroup {
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

// Returns the number of elements of one channel, or of a kernel for it.
std::int64_t channel_size(const Tensor& x) { return numel(DimSpan(x.shape()).subspan(first_size)); }
std::int64_t channel_size(const Shape& shape) { return numel(DimSpan(shape).subspan(first_size)); }

// Returns the group's rows of a weight as a matrix [out, in * kernel].
Tensor weight_matrix(const Tensor& weight, std::int64_t group, std::int64_t groups) {
  std::int64_t rows = weight.size(0) / groups;
  return weight.narrow({.dim = 0, .start = group * rows, .length = rows})
      .view(Dims{rows, weight.size(1) * channel_size(weight)});
}

void convolution_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  Tensor x = inputs[0].contiguous(), weight = inputs[1].contiguous();
  Tensor& out = outputs[0];
  if (out.numel() == 0) return;
  Convolution options = convolution_of(attributes);
  VolumeWindows windows = windows_of(x.shape(), weight.shape(), options);
  std::int64_t count = channel_size(out), rows = out.size(1) / options.groups;
  Tensor columns = empty({weight.size(1) * channel_size(weight), count}, x.dtype());
  for (std::int64_t image = 0; image < x.size(0); ++image)
    for (std::int64_t group = 0; group < options.groups; ++group) {
      ImageGroup part{image, group, options.groups};
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
  Tensor columns;   // [images * windows, in * kernel]
};

WeightProduct weight_product(const Tensor& x, const Tensor& gradient, const Shape& weight,
                             const Convolution& options, std::int64_t group) {
  std::int64_t images = x.size(0), count = channel_size(gradient);
  std::int64_t rows = weight[0] / options.groups;
  VolumeWindows windows = windows_of(x.shape(), weight, options);
  Tensor columns = empty({weight[1] * channel_size(weight), images * count}, x.dtype());
  std::int64_t bytes = std::int64_t(bytes_per_element(x.dtype()));
  for (std::int64_t image = 0; image < images; ++image)
    unfold(ImageGroup{image, group, options.groups}.of(x).data(), weight[1], x.dtype(), windows,
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
          Convolution options = convolution_of(attributes);
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

void check_weight_dims(const Tensor& weight, std::int64_t dims, const char* name) {
  if (weight.dim() != dims)
    raise(ErrorKind::runtime_error, name, "{}: expected a weight of {} dims, got {}", name, dims,
          to_string(DimSpan(weight.shape())));
}

}  // namespace

Convolution convolution_of(const Attributes& attributes) {
  return {.stride = attributes.get(attribute::stride),
          .padding = attributes.get(attribute::padding),
          .dilation = attributes.get(attribute::dilation),
          .groups = attributes.get(attribute::groups)};
}

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Convolution& options) {
  std::size_t dims = weight.shape().size();
  Attributes attributes = attributes_of(spread(options, std::max(dims, first_size) - first_size));
  bool is_single = x.shape().size() + 1 == dims;
  Tensor batch = is_single ? unsqueeze(x, 0) : x;
  Tensor result = bias.is_defined() ? call_one(convolution_op, {batch, weight, bias}, attributes)
                                    : call_one(convolution_op, {batch, weight}, attributes);
  return is_single ? squeeze(result, 0) : result;
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Convolution& options) {
  check_weight_dims(weight, 3, "conv1d");
  return convolution(x, weight, bias, options);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Convolution& options) {
  check_weight_dims(weight, 4, "conv2d");
  return convolution(x, weight, bias, options);
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Convolution& options) {
  check_weight_dims(weight, 5, "conv3d");
  return convolution(x, weight, bias, options);
}

bool tiles_width(const Convolution& options, DimSpan weight_shape) {
  return options.padding.back() == 0 && options.dilation.back() == 1 &&
         options.stride.back() == weight_shape.back();
}

namespace {

// Returns a weight [out, in / groups, ...] whose inputs and outputs are exchanged.
Tensor exchanged_weight(const Tensor& weight, std::int64_t groups) {
  Shape grouped = {groups, weight.size(0) / groups, weight.size(1)};
  Shape exchanged = {groups * weight.size(1), weight.size(0) / groups};
  for (std::size_t i = first_size; i < weight.shape().size(); ++i) {
    grouped.push_back(weight.shape()[i]);
    exchanged.push_back(weight.shape()[i]);
  }
  return reshape(transpose(reshape(weight, grouped), 1, 2), exchanged);
}

// Makes each column of a weight an output of its own: [out, in, ..., columns] becomes
// [out * columns, in, ..., 1].
Tensor columns_as_outputs(const Tensor& weight) {
  Shape shape = weight.shape();
  shape[0] *= shape.back();
  shape.back() = 1;
  return reshape(movedim(weight, -1, 1), shape);
}

// Lays outputs that are columns side by side, and appends zeros up to the width.
Tensor outputs_as_columns(const Tensor& x, std::int64_t columns, std::int64_t width) {
  Shape split = x.shape(), joined = x.shape();
  joined[1] /= columns;
  joined.back() *= columns;
  split[1] /= columns;
  split.insert(split.begin() + 2, columns);
  Tensor result = reshape(movedim(reshape(x, split), 2, -1), joined);
  return joined.back() == width ? result : pad(result, {0, width - joined.back()});
}

}  // namespace

// The gradient of the input is a convolution of the gradient, spread by the stride, with the
// mirrored kernel, whose inputs and outputs are exchanged. Where windows lie side by side, each
// column of a window is one output instead.
Tensor convolution_input(DimSpan input_shape, const Tensor& weight, const Tensor& gradient,
                         const Convolution& options) {
  Tensor spread = gradient;
  bool is_tiled = tiles_width(options, weight.shape());
  Dims pads, kernel_dims;
  std::size_t sizes = input_shape.size() - first_size;
  if (is_tiled) pads = {0, 0};
  for (std::size_t i = is_tiled ? sizes - 1 : sizes; i-- > 0;) {
    auto dim = std::int64_t(i + first_size);
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
    kernel_dims.push_back(dim);
  }
  Tensor turned = exchanged_weight(weight, options.groups);
  if (is_tiled) turned = columns_as_outputs(turned);
  if (!kernel_dims.empty()) {
    spread = pad(spread, pads);
    turned = flip(turned, kernel_dims);
  }
  Tensor result =
      convolution(spread, turned, {}, {.dilation = options.dilation, .groups = options.groups});
  return is_tiled ? outputs_as_columns(result, weight.shape().back(), input_shape.back()) : result;
}

Tensor convolution_weight(const Tensor& x, DimSpan weight_shape, const Tensor& gradient,
                          const Convolution& options) {
  Attributes attributes = attributes_of(options);
  attributes.set(attribute::weight_size = Dims(weight_shape.begin(), weight_shape.end()));
  return call_one(weight_op, {x, gradient}, attributes);
}

void convolution_ops(OpList& ops) { ops.add({&convolution_op, &weight_op}); }

}  // namespace simmesh
