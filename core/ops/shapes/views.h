#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/ops/op.h"
#include "core/ops/view_arguments.h"

namespace simmesh {

// Views of a tensor's storage by strides, with PyTorch's names and rules. A dim may be negative: it
// counts from the end. All raise an IndexError for a dim out of range.

// view gives the elements another shape, of which one size may be -1. Raises a RuntimeError where
// the element counts differ or no strides give that shape.
Tensor view(const Tensor& x, DimSpan shape);
inline Tensor view(const Tensor& x, std::initializer_list<std::int64_t> shape) {
  return view(x, DimSpan(shape.begin(), shape.size()));
}

// reshape is view where strides give that shape, else a view of a contiguous copy.
Tensor reshape(const Tensor& x, DimSpan shape);
inline Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, DimSpan(shape.begin(), shape.size()));
}

// flatten makes one dim of the dims from first to last, both included. Raises a RuntimeError where
// first comes after last.
Tensor flatten(const Tensor& x, std::int64_t first = 0, std::int64_t last = -1);

// unflatten replaces a dim by dims of the given sizes, of which one may be -1. Raises a
// RuntimeError where they don't multiply to its size.
Tensor unflatten(const Tensor& x, std::int64_t dim, DimSpan sizes);
inline Tensor unflatten(const Tensor& x, std::int64_t dim,
                        std::initializer_list<std::int64_t> sizes) {
  return unflatten(x, dim, DimSpan(sizes.begin(), sizes.size()));
}

// transpose exchanges two dims.
Tensor transpose(const Tensor& x, std::int64_t dim0, std::int64_t dim1);

// t exchanges the dims of a matrix, and returns a vector or a scalar as it is. Raises a
// RuntimeError for more dims.
Tensor t(const Tensor& x);

// permute puts dim dims[i] at place i. Raises a RuntimeError unless each dim comes once.
Tensor permute(const Tensor& x, DimSpan dims);
inline Tensor permute(const Tensor& x, std::initializer_list<std::int64_t> dims) {
  return permute(x, DimSpan(dims.begin(), dims.size()));
}

// movedim moves the dim at source to destination; the others keep their order.
Tensor movedim(const Tensor& x, std::int64_t source, std::int64_t destination);

// squeeze drops all dims of size one, or those among the given.
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, std::int64_t dim);

// unsqueeze adds a dim of size one before dim.
Tensor unsqueeze(const Tensor& x, std::int64_t dim);

// expand repeats dims of size one, and new leading dims, without a copy. A size of -1 keeps that of
// the tensor. Raises a RuntimeError for another size of a dim that isn't one, and for fewer dims.
Tensor expand(const Tensor& x, DimSpan shape);
inline Tensor expand(const Tensor& x, std::initializer_list<std::int64_t> shape) {
  return expand(x, DimSpan(shape.begin(), shape.size()));
}
// expand_as expands to the shape of another tensor.
Tensor expand_as(const Tensor& x, const Tensor& other);

// narrow returns the part of a dim that has length elements and begins at start. Raises an
// IndexError for a start outside of the dim, and a RuntimeError where the part ends beyond it.
Tensor narrow(const Tensor& x, const Tensor::Narrow& range);

// select returns one element of a dim; the result is without that dim. Raises an IndexError for an
// index out of range.
Tensor select(const Tensor& x, std::int64_t dim, std::int64_t index);

// slice returns the elements of a dim from start on, step by step, up to end. Raises a RuntimeError
// for a step below 1.
Tensor slice(const Tensor& x, const SliceRange& range);

// diagonal returns a diagonal as the last dim, in place of the two dims, which have to differ
// (RuntimeError).
Tensor diagonal(const Tensor& x, const Diagonal& which = {});

// split cuts a dim into parts of size elements, of which the last may be shorter, or into parts of
// the sizes. Raises a RuntimeError for a size below 1 (0 will do for an empty dim), and for sizes
// that don't add up to the dim's.
std::vector<Tensor> split(const Tensor& x, std::int64_t size, std::int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, DimSpan sizes, std::int64_t dim = 0);
inline std::vector<Tensor> split(const Tensor& x, std::initializer_list<std::int64_t> sizes,
                                 std::int64_t dim = 0) {
  return split(x, DimSpan(sizes.begin(), sizes.size()), dim);
}

// chunk cuts a dim into at most that many parts of equal size, of which the last may be shorter.
// Raises a RuntimeError for a number below 1.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim = 0);

// unbind returns all elements of a dim, each without that dim.
std::vector<Tensor> unbind(const Tensor& x, std::int64_t dim = 0);

// contiguous returns the tensor itself where its elements are in row-major order, else a copy whose
// elements are. clone always copies; the result is contiguous.
Tensor contiguous(const Tensor& x);
Tensor clone(const Tensor& x);

// detach returns the same data without its part of the tape.
Tensor detach(const Tensor& x);

// slice_backward, select_backward and diagonal_backward return zeros of the shape, with the
// gradient at the places that the view reads.
Tensor slice_backward(const Tensor& gradient, DimSpan shape, const SliceRange& range);
Tensor select_backward(const Tensor& gradient, DimSpan shape, std::int64_t dim, std::int64_t index);
Tensor diagonal_backward(const Tensor& gradient, DimSpan shape, const Diagonal& which);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<std::int64_t> dim0{"dim0"};
inline constexpr Attribute<Dims> split_sizes{"split_sizes"};
inline constexpr Attribute<Dims> squeezed_dims{"dim"};
}  // namespace attribute

}  // namespace simmesh
