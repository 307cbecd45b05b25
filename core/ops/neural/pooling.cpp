#include "core/ops/neural/pooling.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/indexing/scattering.h"
#include "core/ops/kernels/windows.h"
#include "core/ops/op_list.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/convert.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;
using Types = gsl::span<const TensorType>;

void check_images(const Shape& shape, std::string_view where) {
  if (shape.size() < 2)
    raise(ErrorKind::runtime_error, where, "expected images of at least two dims, got {}",
          to_string(DimSpan(shape)));
}

Windows windows_of(const Shape& x, const Pooling2d& options, std::string_view where) {
  check_images(x, where);
  Windows windows = {.image = {x[x.size() - 2], x[x.size() - 1]},
                     .kernel = options.kernel,
                     .stride = options.stride,
                     .padding = options.padding,
                     .ceil_mode = options.ceil_mode};
  for (std::size_t i = 0; i < 2; ++i) {
    if (windows.stride[i] == 0) windows.stride[i] = windows.kernel[i];
    if (2 * windows.padding[i] > windows.kernel[i])
      raise(ErrorKind::runtime_error, where,
            "pad should be at most half of effective kernel size, but got pad={}, kernel_size={}",
            windows.padding[i], windows.kernel[i]);
  }
  windows.check(where);
  return windows;
}

Windows windows_of(const Shape& x, const Attributes& attributes) {
  auto pair = [&](const Attribute<Dims>& which) -> RowsColumns {
    const Dims& dims = attributes.get(which);
    return {dims[0], dims[1]};
  };
  return windows_of(x,
                    {.kernel = pair(attribute::kernel_size),
                     .stride = pair(attribute::stride),
                     .padding = pair(attribute::padding),
                     .ceil_mode = attributes.get_or(attribute::ceil_mode, false)},
                    "max_pool2d");
}

// Interval is the part [begin, end) of a dim.
struct Interval {
  std::int64_t begin;
  std::int64_t end;
};

Interval inside(const Windows& windows, std::size_t dim, std::int64_t window) {
  std::int64_t begin = window * windows.stride[dim] - windows.padding[dim];
  return {std::max<std::int64_t>(begin, 0),
          std::min(begin + windows.kernel[dim], windows.image[dim])};
}

// Returns how many elements of a dim a window has, counting those in the padding.
std::int64_t padded_length(const Windows& windows, std::size_t dim, std::int64_t window) {
  std::int64_t begin = window * windows.stride[dim] - windows.padding[dim];
  return std::min(windows.kernel[dim], windows.image[dim] + windows.padding[dim] - begin);
}

// Returns the place of the greatest element of a window, or of a NaN if there is one.
template <class T>
std::int64_t greatest(const T* image, std::int64_t columns, const Interval& down,
                      const Interval& across) {
  std::int64_t best = down.begin * columns + across.begin;
  for (std::int64_t row = down.begin; row < down.end; ++row)
    for (std::int64_t column = across.begin; column < across.end; ++column) {
      std::int64_t at = row * columns + column;
      if (image[at] > image[best] || (image[at] != image[at] && image[best] == image[best]))
        best = at;
    }
  return best;
}

template <class T>
void pool(const T* images, std::int64_t count, const Windows& windows, std::int64_t* places) {
  auto [down, across] = windows.count();
  for (std::int64_t image = 0; image < count; ++image) {
    for (std::int64_t i = 0; i < down; ++i)
      for (std::int64_t j = 0; j < across; ++j)
        *places++ =
            greatest(images, windows.image[1], inside(windows, 0, i), inside(windows, 1, j));
    images += windows.image[0] * windows.image[1];
  }
}

void max_pool_kernel(Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
  const Tensor& x = inputs[0];
  if (outputs[0].numel() == 0) return;
  Windows windows = windows_of(x.shape(), attributes);
  std::int64_t size = windows.image[0] * windows.image[1], count = x.numel() / size;
  DType dtype = x.dtype() == DType::float64    ? DType::float64
                : is_floating_point(x.dtype()) ? DType::float32
                                               : DType::int64;
  Tensor keys = converted(x, dtype).contiguous();
  std::int64_t* places = outputs[1].mutable_values<std::int64_t>().data();
  if (dtype == DType::float64)
    pool(keys.values<double>().data(), count, windows, places);
  else if (dtype == DType::float32)
    pool(keys.values<float>().data(), count, windows, places);
  else
    pool(keys.values<std::int64_t>().data(), count, windows, places);
  Tensor flat = x.contiguous().view(Dims{count, size});
  adopt_(outputs[0], gather(flat, 1, outputs[1].view(Dims{count, outputs[1].numel() / count}))
                         .view(outputs[0].shape()));
}

const Op max_pool_op = {
    .name = "max_pool2d_with_indices",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      Shape shape = inputs[0].shape;
      RowsColumns count = windows_of(shape, attributes).count();
      shape[shape.size() - 2] = count[0];
      shape[shape.size() - 1] = count[1];
      return {{shape, inputs[0].dtype}, {shape, DType::int64}};
    },
    .kernel = max_pool_kernel,
};

// WindowPlaces lists windows of images, each as so many places in its image, row-major; a place
// past the end stands for no element. divisors has the divisor of each window's sum.
struct WindowPlaces {
  RowsColumns count;
  std::int64_t window_size = 0;
  std::vector<std::int64_t> places;
  std::vector<double> divisors;

  std::int64_t windows() const { return std::int64_t(divisors.size()); }
  Tensor place_tensor() const { return vector_of<std::int64_t>(places); }
  Tensor divisor_tensor(DType dtype) const { return converted(vector_of<double>(divisors), dtype); }
};

// 16-bit dtypes are averaged in float32.
DType averaged_dtype(DType dtype) { return dtype == DType::float64 ? dtype : DType::float32; }

// add_window appends a window, filled up with places past the end.
void add_window(WindowPlaces& windows, const Interval& down, const Interval& across,
                const RowsColumns& image) {
  std::size_t end = windows.places.size() + std::size_t(windows.window_size);
  for (std::int64_t row = down.begin; row < down.end; ++row)
    for (std::int64_t column = across.begin; column < across.end; ++column)
      windows.places.push_back(row * image[1] + column);
  windows.places.resize(end, image[0] * image[1]);
}

Interval adaptive(std::int64_t size, std::int64_t windows, std::int64_t window) {
  return {window * size / windows, ((window + 1) * size + windows - 1) / windows};
}

WindowPlaces sliding_windows(const Windows& geometry, bool count_include_pad) {
  WindowPlaces windows;
  windows.count = geometry.count();
  windows.window_size = geometry.kernel[0] * geometry.kernel[1];
  for (std::int64_t i = 0; i < windows.count[0]; ++i)
    for (std::int64_t j = 0; j < windows.count[1]; ++j) {
      Interval down = inside(geometry, 0, i), across = inside(geometry, 1, j);
      add_window(windows, down, across, geometry.image);
      windows.divisors.push_back(
          count_include_pad ? double(padded_length(geometry, 0, i) * padded_length(geometry, 1, j))
                            : double((down.end - down.begin) * (across.end - across.begin)));
    }
  return windows;
}

WindowPlaces adaptive_windows(const RowsColumns& image, const RowsColumns& size) {
  RowsColumns longest = {0, 0};
  for (std::size_t dim = 0; dim < 2; ++dim)
    for (std::int64_t i = 0; i < size[dim]; ++i) {
      Interval part = adaptive(image[dim], size[dim], i);
      longest[dim] = std::max(longest[dim], part.end - part.begin);
    }
  WindowPlaces windows;
  windows.count = size;
  windows.window_size = longest[0] * longest[1];
  for (std::int64_t i = 0; i < size[0]; ++i)
    for (std::int64_t j = 0; j < size[1]; ++j) {
      Interval down = adaptive(image[0], size[0], i), across = adaptive(image[1], size[1], j);
      add_window(windows, down, across, image);
      windows.divisors.push_back(double((down.end - down.begin) * (across.end - across.begin)));
    }
  return windows;
}

// Returns the windows of images of a shape, from the arguments of an op.
WindowPlaces averaged_windows(const Shape& x, const Attributes& attributes) {
  if (!attributes.has(attribute::output_size))
    return sliding_windows(windows_of(x, attributes), attributes.get(attribute::count_include_pad));
  const Dims& size = attributes.get(attribute::output_size);
  return adaptive_windows({x[x.size() - 2], x[x.size() - 1]}, {size[0], size[1]});
}

TensorTypes average_types(Types inputs, const Attributes& attributes) {
  TensorType type = inputs[0];
  RowsColumns count = averaged_windows(type.shape, attributes).count;
  type.shape[type.shape.size() - 2] = count[0];
  type.shape[type.shape.size() - 1] = count[1];
  return {type};
}

const Op avg_pool_op = {
    .name = "avg_pool2d",
    .shape = average_types,
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Tensor& x = inputs[0];
          if (outputs[0].numel() == 0) return;
          WindowPlaces windows = averaged_windows(x.shape(), attributes);
          DType dtype = averaged_dtype(x.dtype());
          Tensor padded = pad(flatten(converted(x, dtype), -2), {0, 1});
          Tensor elements = unflatten(index_select(padded, -1, windows.place_tensor()), -1,
                                      {windows.windows(), windows.window_size});
          Tensor result = div(sum(elements, -1), windows.divisor_tensor(dtype));
          adopt_(outputs[0], converted(result, x.dtype()).view(outputs[0].shape()));
        },
};

// Each element gets its part of the windows that contain it.
const Op avg_pool_backward_op = {
    .name = "avg_pool2d_backward",
    .shape = [](Types inputs, const Attributes& attributes) -> TensorTypes {
      return {{attributes.get(attribute::input_sizes), inputs[0].dtype}};
    },
    .kernel =
        [](Inputs inputs, const Attributes& attributes, gsl::span<Tensor> outputs) {
          const Shape& shape = outputs[0].shape();
          if (outputs[0].numel() == 0) return;
          WindowPlaces windows = averaged_windows(shape, attributes);
          DType dtype = averaged_dtype(inputs[0].dtype());
          Tensor parts =
              div(flatten(converted(inputs[0], dtype), -2), windows.divisor_tensor(dtype));
          Shape spread = parts.shape();
          spread.push_back(windows.window_size);
          Tensor terms = flatten(expand(unsqueeze(parts, -1), spread), -2);
          Shape padded = parts.shape();
          std::int64_t size = shape[shape.size() - 2] * shape[shape.size() - 1];
          padded.back() = size + 1;
          Tensor sums = index_add(zeros(padded, dtype), -1, windows.place_tensor(), terms);
          Tensor result = narrow(sums, {.dim = -1, .start = 0, .length = size}).contiguous();
          adopt_(outputs[0], converted(result, outputs[0].dtype()).view(shape));
        },
};

Attributes attributes_of(const Windows& windows) {
  auto dims = [](const RowsColumns& pair) { return Dims(pair.begin(), pair.end()); };
  Attributes attributes = {attribute::kernel_size = dims(windows.kernel),
                           attribute::stride = dims(windows.stride),
                           attribute::padding = dims(windows.padding)};
  if (windows.ceil_mode) attributes.set(attribute::ceil_mode = true);
  return attributes;
}

Pooling2d in_one_row(const Pooling1d& options) {
  return {.kernel = {1, options.kernel},
          .stride = {1, options.stride},
          .padding = {0, options.padding},
          .count_include_pad = options.count_include_pad,
          .ceil_mode = options.ceil_mode};
}

}  // namespace

Pooled max_pool2d_with_indices(const Tensor& x, const Pooling2d& options) {
  Windows windows = windows_of(x.shape(), options, "max_pool2d");
  auto outputs = call(max_pool_op, {x}, attributes_of(windows));
  return {outputs[0], outputs[1]};
}

Tensor max_pool2d(const Tensor& x, const Pooling2d& options) {
  return max_pool2d_with_indices(x, options).values;
}

Tensor max_pool1d(const Tensor& x, const Pooling1d& options) {
  return squeeze(max_pool2d(unsqueeze(x, -2), in_one_row(options)), -2);
}

Tensor avg_pool2d(const Tensor& x, const Pooling2d& options) {
  Windows windows = windows_of(x.shape(), options, "avg_pool2d");
  Attributes attributes = attributes_of(windows);
  attributes.set(attribute::count_include_pad = options.count_include_pad);
  return call_one(avg_pool_op, {x}, attributes);
}

Tensor avg_pool1d(const Tensor& x, const Pooling1d& options) {
  return squeeze(avg_pool2d(unsqueeze(x, -2), in_one_row(options)), -2);
}

Tensor adaptive_avg_pool2d(const Tensor& x, const RowsColumns& size) {
  check_images(x.shape(), "adaptive_avg_pool2d");
  RowsColumns image = {x.size(x.dim() - 2), x.size(x.dim() - 1)};
  if (size[0] < 1 || size[1] < 1 || image[0] < 1 || image[1] < 1)
    raise(ErrorKind::runtime_error, "adaptive_avg_pool2d",
          "expected output sizes above 0 and images with elements, got {}x{} of {}", size[0],
          size[1], to_string(DimSpan(x.shape())));
  return call_one(avg_pool_op, {x}, {attribute::output_size = Dims{size[0], size[1]}});
}

Tensor avg_pool2d_again(const Tensor& x, const Attributes& attributes) {
  return call_one(avg_pool_op, {x}, attributes);
}

Tensor avg_pool2d_backward(const Tensor& gradient, DimSpan input_sizes, Attributes attributes) {
  attributes.set(attribute::input_sizes = Dims(input_sizes.begin(), input_sizes.end()));
  return call_one(avg_pool_backward_op, {gradient}, attributes);
}

void pooling_ops(OpList& ops) { ops.add({&avg_pool_op, &avg_pool_backward_op, &max_pool_op}); }

}  // namespace simmesh
