#pragma once

#include <cstdint>

#include "core/ops/kernels/windows.h"
#include "core/ops/op.h"

namespace simmesh {

// Convolution are the arguments of a convolution over signals, images or volumes: a number for each
// of their dims, or one for all.
struct Convolution {
  Dims stride = {1};
  Dims padding = {0};
  Dims dilation = {1};
  std::int64_t groups = 1;
};

// convolution slides weight[out, in / groups, sizes...] over x[n, in, sizes...], or over one such
// element of a batch, and adds bias[out], where it is defined, to the finished sum. There are one
// to three sizes. Each element is one product over input channel and kernel in row-major order,
// rounded once. Raises a RuntimeError for sizes that don't fit.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                   const Convolution& options = {});

// conv1d, conv2d and conv3d are convolution over signals [w], images [h, w] and volumes [d, h, w].
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Convolution& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Convolution& options = {});
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Convolution& options = {});

// convolution_input and convolution_weight return the gradients of a convolution of a batch, given
// that of its output and the shape of the input or weight.
Tensor convolution_input(DimSpan input_shape, const Tensor& weight, const Tensor& gradient,
                         const Convolution& options);
Tensor convolution_weight(const Tensor& x, DimSpan weight_shape, const Tensor& gradient,
                          const Convolution& options);

// tiles_width is true if windows lie side by side along the last dim, without padding: then a piece
// of whole windows needs no element of another piece.
bool tiles_width(const Convolution& options, DimSpan weight_shape);

// convolution_of reads the arguments of a convolution op, in which each dim has its numbers.
Convolution convolution_of(const Attributes& attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> dilation{"dilation"};
inline constexpr Attribute<Dims> weight_size{"weight_size"};
}  // namespace attribute

}  // namespace simmesh
