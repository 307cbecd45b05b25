#pragma once

#include <cstddef>
#include <gsl/span>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "core/memory/storage.h"
#include "core/tensor/attachment.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "core/tensor/values.h"

namespace simmesh {

class FoldHash;
struct MemoryRange;

// Tensor is one rank's array: a strided view of a storage. Copies of a Tensor view the same
// storage, as in PyTorch; what other ranks share with it is never changed by a write (see Storage).
// A default-constructed Tensor is undefined.
//
//   Tensor a = zeros({4, 2}, DType::float32);
//   Tensor row = a.narrow({.dim = 0, .start = 1, .length = 1});   // a view
//   row.mutable_values<float>()[0] = 1;                            // seen through a
class Tensor {
 public:
  using Narrow = NarrowRange;

  Tensor() = default;
  Tensor(StoragePtr storage, DType dtype, Shape shape, Strides strides, std::int64_t offset);
  // A tensor cut over a mesh has its logical shape and no storage.
  Tensor(DistributionPtr distribution, DType dtype, Shape shape);
  // A contiguous tensor that begins where the storage does.
  Tensor(StoragePtr storage, DType dtype, DimSpan shape);

  bool is_defined() const { return storage_ != nullptr || distribution_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  std::int64_t dim() const { return std::int64_t(shape_.size()); }
  // size returns the extent of a dim, counted from the end where it is negative. Raises an
  // IndexError for a dim that isn't there.
  std::int64_t size(std::int64_t dim) const {
    std::int64_t from_begin = dim < 0 ? dim + this->dim() : dim;
    if (from_begin < 0 || from_begin >= this->dim()) [[unlikely]]
      refuse_dim(dim);
    return shape_[std::size_t(from_begin)];
  }
  std::int64_t numel() const { return count_; }
  std::size_t bytes() const { return std::size_t(count_) * bytes_per_element(dtype_); }
  // storage_offset is in elements, from the begin of the storage.
  std::int64_t storage_offset() const { return offset_; }
  const StoragePtr& storage() const { return storage_; }
  bool is_contiguous() const;
  // is_meta is true for a tensor of the meta device: it has a shape and a dtype, no elements, and
  // takes no memory of a rank. has_elements is false for those, and for all tensors of a World of
  // shapes only: code that would write their elements does nothing, code that would read them
  // raises.
  bool is_meta() const { return storage_ && storage_->is_meta(); }
  bool has_elements() const { return storage_ && storage_->has_elements(); }

  // tracking is the tape's part of the tensor, null where it takes no part in differentiation;
  // distribution describes a tensor that is cut over a mesh, null for others.
  const TrackingPtr& tracking() const {
    if (!tracking_ && storage_ && storage_->lineages()) [[unlikely]]
      find_tracking();
    return tracking_;
  }
  const DistributionPtr& distribution() const { return distribution_; }
  void set_tracking(TrackingPtr tracking) { tracking_ = std::move(tracking); }
  bool requires_grad() const { return tracking() && tracking()->requires_grad(); }
  // lineage numbers the tensor and its views among those that share the storage; see Lineages. The
  // elements of a distributed tensor have lineages of their own. view_kind says how the tensor was
  // made. make_view makes this tensor a view of another one of the same storage; without_tracking
  // returns the tensor without its part of the tape, of the same lineage.
  std::uint32_t lineage() const {
    if (lineage_ == 0 && storage_) lineage_ = storage_->new_lineage();
    return lineage_;
  }
  ViewKind view_kind() const { return view_kind_; }
  void make_view(const Tensor& of, ViewKind made);
  Tensor without_tracking() const {
    Tensor result = *this;
    result.tracking_ = nullptr;
    return result;
  }
  // detach returns the same data without the tape's part. local_part does the same, but returns
  // this rank's piece of a tensor that is cut over a mesh.
  Tensor detach() const;
  Tensor local_part() const { return distribution_ ? distributed_part() : detach(); }

  // data points to the first element. The elements are at the strides. What the tape saved of the
  // tensor is stale once mutable_data or mutable_values was called.
  const std::byte* data() const {
    return storage_->data() + std::size_t(offset_) * bytes_per_element(dtype_);
  }
  std::byte* mutable_data();

  // values and mutable_values return all elements of a contiguous tensor of that dtype, row-major.
  // Both raise a RuntimeError for another tensor than a contiguous one.
  template <class T>
  Values<const T> values() const {
    check_access(dtype_of<T>);
    return {reinterpret_cast<const T*>(data()), std::size_t(count_)};
  }
  template <class T>
  Values<T> mutable_values() {
    check_access(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_data()), std::size_t(count_)};
  }

  // Views of the same storage. They raise an IndexError for a dim out of range and a ValueError for
  // sizes that don't fit. For a tensor that is recorded on the tape or cut over a mesh, these
  // methods and contiguous and clone are ops: see core/ops/shapes/views.h.
  Tensor narrow(const Narrow& range) const;
  Tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  Tensor permute(DimSpan dims) const;
  Tensor unsqueeze(std::int64_t dim) const;
  Tensor squeeze(std::int64_t dim) const;
  // view keeps the row-major order of a contiguous tensor under a shape of as many elements.
  Tensor view(DimSpan shape) const;

  // contiguous returns this tensor if its elements are in row-major order, else a copy whose
  // elements are.
  Tensor contiguous() const;
  // clone returns a contiguous tensor with a storage of its own. The two share bytes until one is
  // written.
  Tensor clone() const;

 private:
  friend Tensor empty(DimSpan shape, DType dtype);

  // A contiguous tensor of a known number of elements.
  Tensor(StoragePtr storage, DType dtype, DimSpan shape, std::int64_t count);
  void check_access(DType dtype) const;
  [[noreturn]] void refuse_dim(std::int64_t dim) const;
  Tensor distributed_part() const;
  // attached_views returns the implementation that views of the tensor use, null for a plain
  // tensor.
  const AttachedViews* attached_views() const;
  void find_tracking() const;
  // Makes a plain view of this tensor.
  Tensor view_of(Shape shape, Strides strides, std::int64_t offset) const;

  StoragePtr storage_;
  mutable TrackingPtr tracking_;  // found in the storage's lineages when it is asked for
  DistributionPtr distribution_;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  std::int64_t count_ = 0;
  mutable std::uint32_t lineage_ = 0;  // 0 until somebody asks
  DType dtype_ = DType::float32;
  ViewKind view_kind_ = ViewKind::none;
};

// empty returns a contiguous tensor of uninitialised elements; zeros and full return one of equal
// elements.
Tensor empty(DimSpan shape, DType dtype);
Tensor zeros(DimSpan shape, DType dtype);
Tensor full(DimSpan shape, DType dtype, double value);

// empty_meta returns a contiguous tensor of the meta device, of which only shape and dtype count;
// or one that is charged to the rank's ledger, and gets its bytes later by adopting them.
Tensor empty_meta(DimSpan shape, DType dtype, bool charged = false);

inline Tensor empty(std::initializer_list<std::int64_t> shape, DType dtype) {
  return empty(DimSpan(shape.begin(), shape.size()), dtype);
}
inline Tensor zeros(std::initializer_list<std::int64_t> shape, DType dtype) {
  return zeros(DimSpan(shape.begin(), shape.size()), dtype);
}
inline Tensor full(std::initializer_list<std::int64_t> shape, DType dtype, double value) {
  return full(DimSpan(shape.begin(), shape.size()), dtype, value);
}

// tensor_of returns a contiguous tensor of the given row-major elements.
template <class T>
Tensor tensor_of(std::initializer_list<std::int64_t> shape, std::initializer_list<T> values) {
  Tensor result = empty(shape, dtype_of<T>);
  if (!result.has_elements()) return result;
  auto out = result.mutable_values<T>();
  SIMMESH_CHECK(values.size() == out.size(), "{} values for the shape {}", values.size(),
                to_string(result.shape()));
  std::copy(values.begin(), values.end(), out.begin());
  return result;
}

// copy_ writes the elements of source into target, which has the same shape and dtype, through any
// strides. What the tape saved of the target is stale afterwards.
void copy_(Tensor& target, const Tensor& source);

// adopt_ lets target take the elements of a contiguous source of the same shape and dtype: without
// a copy where target covers its whole storage, else like copy_.
void adopt_(Tensor& target, const Tensor& source);

// same_bits says whether two tensors have equal dtype, shape and bits. NaNs are compared as bits.
bool same_bits(const Tensor& a, const Tensor& b);

// difference_in_bits describes how two tensors differ: in dtype or shape; else the number of
// elements, the largest difference, and the first elements that differ. Empty where they have the
// same bits.
//   2 of 6 elements of float32[2, 3] differ, by at most 4; the first at [0, 2]: expected 1, got 3
std::string difference_in_bits(const Tensor& actual, const Tensor& expected);

// fold_into folds dtype, shape and bits of a tensor into a hash; in a World of shapes only there
// are no bits.
void fold_into(FoldHash& hash, const Tensor& tensor);

// memory_of returns the bytes of a tensor's storage from its first to its last element, as the
// clock of a device sees them.
MemoryRange memory_of(const Tensor& tensor);

// to_string prints dtype, shape and up to 64 elements: "float32[2, 2] {1, 2, 3, 4}".
std::string to_string(const Tensor& tensor);

}  // namespace simmesh
