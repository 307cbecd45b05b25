#pragma once

#include "core/ops/op.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Geometry is the place of a tensor's elements in its storage.
struct Geometry {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;

  bool operator==(const Geometry&) const = default;
};
Geometry geometry_of(const Tensor& tensor);

// strided_view_op is the op of a view of a base, both plain tensors of one storage, that needs to
// know only where their elements are: its node is like PyTorch's AsStridedBackward. Elements that
// the view repeats add up. strided_attributes are its attributes.
const Op& strided_view_op();
Attributes strided_attributes(const Geometry& base, const Geometry& view);

// gather_strided returns the elements of a gradient, which has the base's shape, at the places of a
// view; put_strided returns the gradient with those elements replaced. Both are ops with a
// gradient.
Tensor gather_strided(const Tensor& gradient, const Geometry& base, const Geometry& view);
Tensor put_strided(const Tensor& gradient, const Tensor& elements, const Geometry& base,
                   const Geometry& view);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<Dims> base_size{"base_size"};
inline constexpr Attribute<Dims> base_strides{"base_strides"};
inline constexpr Attribute<std::int64_t> base_offset{"base_offset"};
inline constexpr Attribute<Dims> view_size{"view_size"};
inline constexpr Attribute<Dims> view_strides{"view_strides"};
inline constexpr Attribute<std::int64_t> view_offset{"view_offset"};
}  // namespace attribute

}  // namespace simmesh
