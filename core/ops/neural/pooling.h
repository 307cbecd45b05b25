#pragma once

#include "core/ops/kernels/windows.h"
#include "core/ops/op.h"

namespace simmesh {

// Pooling over images [..., rows, columns], or over the last dim. All raise a RuntimeError for
// fewer dims, for padding of more than half a kernel, and for kernels larger than the padded image.

// Pooling2d are the arguments of pooling over images; a stride of zero is the kernel's size.
struct Pooling2d {
  RowsColumns kernel = {1, 1};
  RowsColumns stride = {0, 0};
  RowsColumns padding = {0, 0};
  bool count_include_pad = true;  // of averages: padding counts as elements
  bool ceil_mode = false;         // see Windows; places beyond the padding don't count
};
// Pooling1d are the arguments of pooling over the last dim.
struct Pooling1d {
  std::int64_t kernel = 1;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
  bool count_include_pad = true;
  bool ceil_mode = false;
};

// Pooled is the greatest elements of windows, and their places in their image, row-major: int64.
struct Pooled {
  Tensor values;
  Tensor indices;
};

// max_pool2d_with_indices takes the greatest element of each window, of equal ones the first; a NaN
// wins. Padding is never taken.
Pooled max_pool2d_with_indices(const Tensor& x, const Pooling2d& options);
Tensor max_pool2d(const Tensor& x, const Pooling2d& options);
Tensor max_pool1d(const Tensor& x, const Pooling1d& options);

// avg_pool2d sums each window in row-major order and divides by its number of elements.
Tensor avg_pool2d(const Tensor& x, const Pooling2d& options);
Tensor avg_pool1d(const Tensor& x, const Pooling1d& options);

// adaptive_avg_pool2d averages size windows along each dim: window i of n goes from floor(i * s /
// n) to ceil((i + 1) * s / n).
Tensor adaptive_avg_pool2d(const Tensor& x, const RowsColumns& size);

// avg_pool2d_backward returns the gradient of an average pooling of images of these sizes with
// these arguments of its op; avg_pool2d_again pools with them.
Tensor avg_pool2d_backward(const Tensor& gradient, DimSpan input_sizes, Attributes attributes);
Tensor avg_pool2d_again(const Tensor& x, const Attributes& attributes);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> kernel_size{"kernel_size"};
inline constexpr Attribute<bool> ceil_mode{"ceil_mode"};
inline constexpr Attribute<bool> count_include_pad{"count_include_pad"};
inline constexpr Attribute<Dims> output_size{"output_size"};
}  // namespace attribute

}  // namespace simmesh
