#pragma once

#include <cstdint>

#include "core/ops/kernels/windows.h"
#include "core/ops/op.h"

namespace simmesh {

// Convolution2d are the arguments of conv2d.
struct Convolution2d {
  RowsColumns stride = {1, 1};
  RowsColumns padding = {0, 0};
  RowsColumns dilation = {1, 1};
  std::int64_t groups = 1;
};
// Convolution1d are the arguments of conv1d.
struct Convolution1d {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  std::int64_t groups = 1;
};

// conv2d slides weight[out, in / groups, rows, columns] over x[n, in, h, w] and adds bias[out],
// where it is defined, to the finished sum. Each element is one product over input channel, kernel
// row, kernel column, in this order, rounded once. Raises a RuntimeError for sizes that don't fit.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Convolution2d& options = {});

// conv1d is conv2d of x[n, in, w] and weight[out, in / groups, columns].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Convolution1d& options = {});

// conv2d_input and conv2d_weight return the gradients of conv2d, given that of its output and the
// shape of the input or weight.
Tensor conv2d_input(DimSpan input_shape, const Tensor& weight, const Tensor& gradient,
                    const Convolution2d& options);
Tensor conv2d_weight(const Tensor& x, DimSpan weight_shape, const Tensor& gradient,
                     const Convolution2d& options);

// convolution_of reads the arguments of a convolution op.
Convolution2d convolution_of(const Attributes& attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> dilation{"dilation"};
inline constexpr Attribute<Dims> weight_size{"weight_size"};
}  // namespace attribute

}  // namespace simmesh
