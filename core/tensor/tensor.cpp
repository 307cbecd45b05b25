#include "core/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/clock/kernel_launch.h"
#include "core/memory/data_mode.h"
#include "core/tensor/elements_hash.h"
#include "core/tensor/grad_mode.h"
#include "core/tensor/strided_copy.h"

namespace simmesh {

namespace {

[[noreturn]] void refuse_dim_of(std::int64_t dim, std::int64_t dims, std::string_view where) {
  raise(ErrorKind::index_error, where,
        "Dimension out of range: expected to be in range of [{}, {}], but got {}", -dims, dims - 1,
        dim);
}

std::int64_t wrapped_dim(std::int64_t dim, std::int64_t dims, std::string_view where) {
  if (dim < -dims || dim >= dims) refuse_dim_of(dim, dims, where);
  return dim < 0 ? dim + dims : dim;
}

void check_same_layout(const Tensor& target, const Tensor& source, std::string_view where) {
  if (target.shape() != source.shape() || target.dtype() != source.dtype())
    raise(ErrorKind::value_error, where, "expected a source of {}{}, got {}{}",
          to_string(target.dtype()), to_string(target.shape()), to_string(source.dtype()),
          to_string(source.shape()));
}

// True for a tensor that is charged and has no elements, as all tensors in a World of shapes only.
bool is_only_a_shape(const Tensor& x) {
  return x.storage() && !x.storage()->is_meta() && !x.storage()->has_elements();
}

ElementPlaces places_of(const Tensor& x) {
  std::size_t element = bytes_per_element(x.dtype());
  return {x.storage()->buffer_offset() + std::size_t(x.storage_offset()) * element, x.shape(),
          x.strides(), element};
}

// Stands for a copy where there are only shapes.
void copy_shape(const Tensor& target, const Tensor& source) {
  source.storage()->require_bytes();
  target.storage()->require_bytes();
  target.storage()->count_change();
}

// Tells the rank's device, where one is modelled, of an operation that writes a tensor.
void launch_write(const char* name, const Tensor& written) {
  Clock* clock = Clock::active();
  if (!clock || clock->is_quiet()) [[likely]]
    return;
  MemoryRange write = memory_of(written);
  launch_kernel(*clock, {.name = name, .writes = {&write, 1}});
}

void launch_copy(const char* name, const Tensor& read, const Tensor& written) {
  Clock* clock = Clock::active();
  if (!clock || clock->is_quiet()) [[likely]]
    return;
  MemoryRange from = memory_of(read), to = memory_of(written);
  launch_kernel(*clock, {.name = name, .reads = {&from, 1}, .writes = {&to, 1}});
}

std::size_t bytes_of(std::int64_t count, DimSpan shape, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::int64_t(bytes_per_element(dtype)), &bytes))
    raise(ErrorKind::value_error, "tensor/empty", "expected fewer than 2^63 bytes, got {}{}",
          to_string(dtype), to_string(shape));
  return std::size_t(bytes);
}

}  // namespace

Tensor::Tensor(StoragePtr storage, DType dtype, Shape shape, Strides strides, std::int64_t offset)
    : storage_(std::move(storage)),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      count_(simmesh::numel(shape_)),
      dtype_(dtype) {}

Tensor::Tensor(DistributionPtr distribution, DType dtype, Shape shape)
    : distribution_(std::move(distribution)),
      shape_(std::move(shape)),
      strides_(contiguous_strides(shape_)),
      count_(simmesh::numel(shape_)),
      dtype_(dtype) {}

// Most tensors have no attachment, so the test for one comes first.
const AttachedViews* Tensor::attached_views() const {
  if (!distribution_ && !tracking()) [[likely]]
    return nullptr;
  return distribution_ ? &distribution_->views() : tracking_->views();
}

void Tensor::find_tracking() const {
  if (lineage_ != 0) tracking_ = storage_->lineages()->find(*this);
}

void Tensor::make_view(const Tensor& of, ViewKind made) {
  lineage_ = of.lineage();
  view_kind_ = made_view(of.view_kind_, made);
  if (of.tracking()) [[unlikely]]
    of.tracking_->track_view(of, *this);
}

Tensor Tensor::view_of(Shape shape, Strides strides, std::int64_t offset) const {
  Tensor result(storage_, dtype_, std::move(shape), std::move(strides), offset);
  if (storage_) result.make_view(*this, grad_enabled() ? ViewKind::view : ViewKind::unrecorded);
  return result;
}

Tensor Tensor::distributed_part() const { return distribution_->local_part(); }

Tensor Tensor::detach() const {
  Tensor result = without_tracking();
  result.lineage_ = storage_ ? storage_->new_lineage() : 0;
  result.view_kind_ = ViewKind::none;
  return result;
}

Tensor::Tensor(StoragePtr storage, DType dtype, DimSpan shape)
    : Tensor(std::move(storage), dtype, shape, simmesh::numel(shape)) {}

Tensor::Tensor(StoragePtr storage, DType dtype, DimSpan shape, std::int64_t count)
    : storage_(std::move(storage)),
      shape_(shape.data(), shape.data() + shape.size()),
      strides_(contiguous_strides(shape)),
      count_(count),
      lineage_(storage_ ? storage_->new_lineage() : 0),
      dtype_(dtype) {}

bool Tensor::is_contiguous() const {
  std::int64_t stride = 1;
  for (std::size_t dim = shape_.size(); dim-- > 0;) {
    if (shape_[dim] == 1) continue;
    if (strides_[dim] != stride && count_ > 0) return false;
    stride *= shape_[dim];
  }
  return true;
}

void Tensor::refuse_dim(std::int64_t dim) const { refuse_dim_of(dim, this->dim(), "tensor/size"); }

std::byte* Tensor::mutable_data() {
  std::size_t element = bytes_per_element(dtype_);
  std::int64_t last = count_ == 0 ? -1 : 0;
  for (std::size_t dim = 0; count_ > 0 && dim < shape_.size(); ++dim)
    last += (shape_[dim] - 1) * strides_[dim];
  std::size_t begin = std::size_t(offset_) * element;
  return storage_->mutable_data({begin, std::size_t(last + 1) * element}) + begin;
}

void Tensor::check_access(DType dtype) const {
  SIMMESH_CHECK(is_defined(), "values of an undefined tensor");
  SIMMESH_CHECK(dtype == dtype_, "values of {} read as {}", to_string(dtype_), to_string(dtype));
  if (!is_contiguous()) [[unlikely]]
    raise(ErrorKind::runtime_error, "tensor/values",
          "expected a contiguous tensor, got one of shape {} with strides {}: take the values of "
          "its contiguous()",
          to_string(shape_), to_string(strides_));
}

Tensor Tensor::narrow(const Narrow& range) const {
  if (const AttachedViews* views = attached_views()) return views->narrow(*this, range);
  std::int64_t at = wrapped_dim(range.dim, dim(), "tensor/narrow");
  if (range.start < 0 || range.length < 0 || range.start > size(at) - range.length)
    raise(ErrorKind::value_error, "tensor/narrow",
          "expected a range within 0..{} of dim {}, got {} elements from {}", size(at), at,
          range.length, range.start);
  Shape shape = shape_;
  shape[std::size_t(at)] = range.length;
  std::int64_t offset = offset_ + range.start * strides_[std::size_t(at)];
  return view_of(std::move(shape), strides_, offset);
}

Tensor Tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  if (const AttachedViews* views = attached_views()) return views->transpose(*this, dim0, dim1);
  std::size_t a = std::size_t(wrapped_dim(dim0, dim(), "tensor/transpose"));
  std::size_t b = std::size_t(wrapped_dim(dim1, dim(), "tensor/transpose"));
  Shape shape = shape_;
  Strides strides = strides_;
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return view_of(std::move(shape), std::move(strides), offset_);
}

Tensor Tensor::permute(DimSpan dims) const {
  if (const AttachedViews* views = attached_views()) return views->permute(*this, dims);
  Dims sorted(dims.begin(), dims.end());
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == shape_.size();
  for (std::size_t i = 0; i < sorted.size(); ++i) is_order &= sorted[i] == std::int64_t(i);
  if (!is_order)
    raise(ErrorKind::value_error, "tensor/permute", "expected an order of {} dims, got {}", dim(),
          to_string(dims));
  Shape shape = shape_;
  Strides strides = strides_;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    shape[i] = shape_[std::size_t(dims[i])];
    strides[i] = strides_[std::size_t(dims[i])];
  }
  return view_of(std::move(shape), std::move(strides), offset_);
}

Tensor Tensor::unsqueeze(std::int64_t at) const {
  if (const AttachedViews* views = attached_views()) return views->unsqueeze(*this, at);
  std::int64_t where = wrapped_dim(at, dim() + 1, "tensor/unsqueeze");
  Shape shape = shape_;
  Strides strides = strides_;
  std::int64_t stride = where < dim() ? size(where) * strides_[std::size_t(where)] : 1;
  shape.insert(shape.begin() + where, 1);
  strides.insert(strides.begin() + where, stride);
  return view_of(std::move(shape), std::move(strides), offset_);
}

Tensor Tensor::squeeze(std::int64_t at) const {
  if (const AttachedViews* views = attached_views()) return views->squeeze(*this, at);
  std::int64_t where = wrapped_dim(at, dim(), "tensor/squeeze");
  Shape shape = shape_;
  Strides strides = strides_;
  if (size(where) == 1) {
    shape.erase(shape.begin() + where);
    strides.erase(strides.begin() + where);
  }
  return view_of(std::move(shape), std::move(strides), offset_);
}

Tensor Tensor::view(DimSpan shape) const {
  if (const AttachedViews* views = attached_views()) return views->view(*this, shape);
  if (!is_contiguous() || simmesh::numel(shape) != count_)
    raise(
        ErrorKind::value_error, "tensor/view",
        "expected a contiguous tensor of {} elements for the shape {}, got {} elements of shape {}",
        simmesh::numel(shape), to_string(shape), count_, to_string(shape_));
  return view_of(Shape(shape.data(), shape.data() + shape.size()), contiguous_strides(shape),
                 offset_);
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  if (const AttachedViews* views = attached_views()) return views->clone(*this);
  Tensor result = empty(shape_, dtype_);
  copy_(result, *this);
  return result;
}

Tensor Tensor::clone() const {
  if (const AttachedViews* views = attached_views()) return views->clone(*this);
  if (!is_contiguous()) return contiguous();
  std::size_t begin = std::size_t(offset_) * bytes_per_element(dtype_);
  if (is_only_a_shape(*this)) storage_->require_bytes();
  StoragePtr own =
      is_only_a_shape(*this)
          ? Storage::make_unbacked(bytes(), true)
          : Storage::share(storage_->buffer(), storage_->buffer_offset() + begin, bytes());
  Tensor result(std::move(own), dtype_, shape_, count_);
  launch_copy("clone", *this, result);
  return result;
}

Tensor empty(DimSpan shape, DType dtype) {
  std::int64_t count = numel(shape);
  return Tensor(Storage::make(bytes_of(count, shape, dtype)), dtype, shape, count);
}

Tensor empty_meta(DimSpan shape, DType dtype, bool charged) {
  return Tensor(Storage::make_unbacked(bytes_of(numel(shape), shape, dtype), charged), dtype,
                Shape(shape.data(), shape.data() + shape.size()), contiguous_strides(shape), 0);
}

Tensor zeros(DimSpan shape, DType dtype) {
  Tensor result = empty(shape, dtype);
  if (result.has_elements() && result.bytes() > 0)
    std::memset(result.mutable_data(), 0, result.bytes());
  launch_write("zeros", result);
  return result;
}

Tensor full(DimSpan shape, DType dtype, double value) {
  Tensor result = empty(shape, dtype);
  launch_write("full", result);
  if (!result.has_elements()) return result;
  visit_dtype(dtype, [&]<class T>(T) {
    auto values = result.mutable_values<T>();
    std::fill(values.begin(), values.end(), rounded_to<T>(value));
  });
  return result;
}

namespace {

// WriteBetween keeps the companion of a tensor's buffer over a write to the tensor. The elements of
// a strided tensor have others between them, whose companion must stay.
class WriteBetween {
 public:
  explicit WriteBetween(const Tensor& target)
      : storage_(*target.storage()),
        buffer_(storage_.buffer().get()),
        offset_(storage_.buffer_offset()),
        kept_(target.is_contiguous() ? nullptr : storage_.buffer()->companion()) {}

  // kept returns the companion for the buffer that was written, which is a copy where the first
  // buffer was shared.
  CompanionPtr kept() const {
    if (!kept_) return storage_.buffer()->companion();
    bool is_copy = storage_.buffer().get() != buffer_;
    return is_copy ? kept_->slice({offset_, storage_.bytes()}) : kept_;
  }

 private:
  const Storage& storage_;
  const Buffer* buffer_;
  std::size_t offset_;
  CompanionPtr kept_;
};

}  // namespace

void copy_(Tensor& target, const Tensor& source) {
  check_same_layout(target, source, "tensor/copy_");
  if (target.numel() == 0) return;
  launch_copy("copy_", source, target);
  if (DataMode::shapes_only() && is_only_a_shape(target)) return copy_shape(target, source);
  CompanionPtr kept = source.storage()->buffer()->companion();
  ElementPlaces from = places_of(source);
  WriteBetween write(target);
  strided_copy({target.mutable_data(), target.strides()}, {source.data(), source.strides()},
               target.shape(), bytes_per_element(target.dtype()));
  CompanionPtr before = write.kept();
  if (!kept && (!before || target.is_contiguous())) [[likely]]
    return;
  Buffer& buffer = *target.storage()->buffer();
  // Without a companion the source gets places past the end of the buffer, where the target's
  // companion has nothing.
  Strides nowhere(target.shape().size(), 0);
  if (!kept) from = {buffer.bytes(), target.shape(), nowhere, from.element_bytes};
  buffer.set_companion((kept ? kept : before)->with_copy(before, from, places_of(target)));
}

void adopt_(Tensor& target, const Tensor& source) {
  check_same_layout(target, source, "tensor/adopt_");
  bool whole = target.is_contiguous() && target.bytes() == target.storage()->bytes();
  if (!whole || !source.is_contiguous()) return copy_(target, source);
  launch_copy("copy_", source, target);
  if (DataMode::shapes_only() && is_only_a_shape(target)) {
    source.storage()->require_bytes();
    return target.storage()->adopt(nullptr, 0);
  }
  std::size_t begin = std::size_t(source.storage_offset()) * bytes_per_element(source.dtype());
  target.storage()->adopt(source.storage()->buffer(), source.storage()->buffer_offset() + begin);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.numel() == 0) return true;
  Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

void fold_into(FoldHash& hash, const Tensor& tensor) {
  hash.fold(std::uint64_t(tensor.dtype()));
  for (std::int64_t size : tensor.shape()) hash.fold(std::uint64_t(size));
  if (DataMode::shapes_only()) return;
  Ledger::Uncharged workspace;
  Tensor rows = tensor.contiguous();
  hash.fold(elements_hash({rows.data(), rows.bytes()}, rows.dtype()));
}

MemoryRange memory_of(const Tensor& tensor) {
  const Storage& storage = *tensor.storage();
  std::size_t element = bytes_per_element(tensor.dtype());
  std::int64_t last = 0;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    last += (tensor.size(dim) - 1) * tensor.strides()[std::size_t(dim)];
  bool is_empty = tensor.numel() == 0;
  return {.storage = storage.id(),
          .storage_begin = storage.address(),
          .offset = std::size_t(tensor.storage_offset()) * element,
          .bytes = is_empty ? 0 : std::size_t(last + 1) * element};
}

std::string to_string(const Tensor& tensor) {
  if (!tensor.is_defined()) return "undefined";
  if (is_only_a_shape(tensor))
    return fmt::format("{}{} of shapes only", to_string(tensor.dtype()),
                       to_string(DimSpan(tensor.shape())));
  constexpr std::size_t shown_max = 64;
  std::string text =
      fmt::format("{}{} {{", to_string(tensor.dtype()), to_string(DimSpan(tensor.shape())));
  Tensor rows = tensor.contiguous();
  visit_dtype(rows.dtype(), [&]<class T>(T) {
    auto values = rows.values<T>();
    for (std::size_t i = 0; i < std::min(values.size(), shown_max); ++i) {
      text += i == 0 ? "" : ", ";
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        text += fmt::format("{}", static_cast<float>(values[i]));
      else
        text += fmt::format("{}", values[i]);
    }
    if (values.size() > shown_max) text += ", ...";
  });
  return text + "}";
}

}  // namespace simmesh
