#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace simmesh {

// Order and counting. A NaN is greater than all other values. Equal values keep their order.

// Sorted is the values along a dim in order, and the int64 indices of where they were before.
struct Sorted {
  Tensor values;
  Tensor indices;
};

// sort orders a dim; equal elements keep their order. argsort returns only the indices.
Sorted sort(const Tensor& x, std::int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, std::int64_t dim = -1, bool descending = false);

// TopK are the options of topk: k and the dim, and which elements of it.
struct TopK {
  std::int64_t k = 1;
  std::int64_t dim = -1;
  bool largest = true;
};
// topk returns the first k elements of a dim in order; of equal ones, those with the lowest index.
// Raises a RuntimeError for a k that the dim doesn't have.
Sorted topk(const Tensor& x, const TopK& which);

// kthvalue returns the k-th smallest element of a dim, k from 1. Raises a RuntimeError for a k that
// the dim doesn't have.
struct KthValue {
  std::int64_t k = 1;
  std::int64_t dim = -1;
  bool keepdim = false;
};
Sorted kthvalue(const Tensor& x, const KthValue& which);

// searchsorted returns for each value the first place of the sorted last dim where it could stand:
// before equal elements, or after them with right. The sorted dims are a vector, or those of values
// but for the last. bucketize has the sorted vector second. Raise a RuntimeError for other
// shapes. Operands of different dtypes are compared in their common one.
struct SearchOptions {
  bool right = false;
  bool out_int32 = false;
};
Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchOptions& options = {});
Tensor bucketize(const Tensor& values, const Tensor& boundaries, const SearchOptions& options = {});

// histc counts the elements in equal bins between low and high, the last of which includes high;
// others are not counted. Where low equals high, they are the least and the greatest element.
// Raises a RuntimeError for a tensor that isn't floating, for bins below 1, and for a low above
// high.
struct Bins {
  std::int64_t bins = 100;
  double low = 0;
  double high = 0;
};
Tensor histc(const Tensor& x, const Bins& bins = {});

// Unique is the sorted distinct elements, each element's place among them, and how often each
// occurs.
struct Unique {
  Tensor values;
  Tensor inverse;
  Tensor counts;
};
// unique's shapes depend on the data, so a distributed tensor raises a RuntimeError.
Unique unique(const Tensor& x);

// The arguments of these ops other than tensors.
namespace attribute {
inline constexpr Attribute<bool> descending{"descending"};
inline constexpr Attribute<bool> largest{"largest"};
inline constexpr Attribute<bool> right{"right"};
inline constexpr Attribute<bool> out_int32{"out_int32"};
inline constexpr Attribute<std::int64_t> bins{"bins"};
}  // namespace attribute

}  // namespace simmesh
