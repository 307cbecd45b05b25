#pragma once

#include <Eigen/Core>
#include <numeric>

#include "core/check/error.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// eigen_map and mutable_eigen_map show the elements of a tensor to Eigen, without a copy: kernels
// of a program's own ops can use Eigen. Only programs that include this header need Eigen. A map
// must not outlive the tensor, nor a write to it by other means.
//
//   Tensor x = zeros({4, 3}, DType::float32), w = zeros({3, 2}, DType::float32);
//   Tensor y = empty({4, 2}, DType::float32);
//   mutable_eigen_map<float>(y) = eigen_map<float>(x) * eigen_map<float>(w);
//   float norm = eigen_vector_map<float>(x.view(Shape{12})).squaredNorm();
//
// What Eigen computes depends on its version and on the compiler's flags; docs/use_from_outside.md
// says what equal bits need.

using EigenStride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
// EigenMap is a matrix in a tensor, EigenVectorMap a column vector; T is const for reading.
template <class T>
using EigenMap =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, const EigenMatrix<std::remove_const_t<T>>,
                                  EigenMatrix<T>>,
               Eigen::Unaligned, EigenStride>;
template <class T>
using EigenVectorMap =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, const Eigen::VectorX<std::remove_const_t<T>>,
                                  Eigen::VectorX<T>>,
               Eigen::Unaligned, Eigen::InnerStride<>>;

namespace detail {

// EigenLayout is a tensor of at most two dims as rows and columns.
struct EigenLayout {
  std::int64_t rows = 1, columns = 1;
  std::int64_t row_stride = 1, column_stride = 1;

  // Two elements share a place if some steps along the rows equal some along the columns.
  bool overlaps() const {
    if (rows * columns <= 1) return false;
    if (columns == 1) return row_stride == 0;
    if (rows == 1) return column_stride == 0;
    if (row_stride == 0 || column_stride == 0) return true;
    std::int64_t divisor = std::gcd(row_stride, column_stride);
    return column_stride / divisor < rows && row_stride / divisor < columns;
  }
};

template <class T>
EigenLayout eigen_layout(const Tensor& tensor, std::int64_t dims_max) {
  static_assert(std::is_arithmetic_v<T>, "Eigen computes with the arithmetic types of C++ only");
  constexpr std::string_view where = "tensor/eigen_map";
  if (!tensor.is_defined() || tensor.distribution())
    raise(ErrorKind::value_error, where, "expected a tensor with elements of its own, got {}",
          tensor.is_defined() ? "one that is cut over a mesh; map its local_part()"
                              : "an undefined one");
  if (tensor.dtype() != dtype_of<T>)
    raise(ErrorKind::type_error, where, "expected {}, got {}", to_string(dtype_of<T>),
          to_string(tensor.dtype()));
  if (tensor.dim() > dims_max)
    raise(ErrorKind::value_error, where, "expected at most {} dims, got the shape {}", dims_max,
          to_string(DimSpan(tensor.shape())));
  for (std::int64_t stride : tensor.strides())
    if (stride < 0)
      raise(ErrorKind::value_error, where, "expected strides of at least 0, got {}",
            to_string(DimSpan(tensor.strides())));
  EigenLayout layout;
  if (tensor.dim() >= 1) {
    layout.rows = tensor.size(0);
    layout.row_stride = tensor.strides()[0];
  }
  if (tensor.dim() == 2) {
    layout.columns = tensor.size(1);
    layout.column_stride = tensor.strides()[1];
  }
  return layout;
}

// Elements that are shared with other ranks are copied first, and the tape learns of the change.
template <class T>
T* eigen_target(Tensor& tensor, const EigenLayout& layout) {
  if (layout.overlaps())
    raise(ErrorKind::value_error, "tensor/eigen_map",
          "expected every element to have a place of its own, got the shape {} with strides {}",
          to_string(DimSpan(tensor.shape())), to_string(DimSpan(tensor.strides())));
  return reinterpret_cast<T*>(tensor.mutable_data());
}

}  // namespace detail

// eigen_map returns the elements of a tensor of at most two dims as a matrix: a vector as one
// column, a scalar as one element. Any strides of at least 0 can be read, those of transposed,
// narrowed and expanded views too. Raises a TypeError for another dtype, a ValueError for more dims
// or for a tensor that is undefined or cut over a mesh.
template <class T>
EigenMap<const T> eigen_map(const Tensor& tensor) {
  detail::EigenLayout layout = detail::eigen_layout<T>(tensor, 2);
  return {reinterpret_cast<const T*>(tensor.data()), layout.rows, layout.columns,
          EigenStride(layout.row_stride, layout.column_stride)};
}

// mutable_eigen_map does the same for writing, and counts as an operation in place. Raises a
// ValueError also where two elements share a place, as in an expanded view.
template <class T>
EigenMap<T> mutable_eigen_map(Tensor& tensor) {
  detail::EigenLayout layout = detail::eigen_layout<T>(tensor, 2);
  return {detail::eigen_target<T>(tensor, layout), layout.rows, layout.columns,
          EigenStride(layout.row_stride, layout.column_stride)};
}

// eigen_vector_map returns the elements of a tensor of at most one dim as what Eigen knows to be a
// vector; mutable_eigen_vector_map does so for writing. They raise as the maps above do.
template <class T>
EigenVectorMap<const T> eigen_vector_map(const Tensor& tensor) {
  detail::EigenLayout layout = detail::eigen_layout<T>(tensor, 1);
  return {reinterpret_cast<const T*>(tensor.data()), layout.rows,
          Eigen::InnerStride<>(layout.row_stride)};
}
template <class T>
EigenVectorMap<T> mutable_eigen_vector_map(Tensor& tensor) {
  detail::EigenLayout layout = detail::eigen_layout<T>(tensor, 1);
  return {detail::eigen_target<T>(tensor, layout), layout.rows,
          Eigen::InnerStride<>(layout.row_stride)};
}

}  // namespace simmesh
