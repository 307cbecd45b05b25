#include "core/ops/kept_operand.h"

#include <cstring>

namespace simmesh {

namespace {

std::size_t begin_in_buffer(const Tensor& tensor) {
  return tensor.storage()->buffer_offset() +
         std::size_t(tensor.storage_offset()) * bytes_per_element(tensor.dtype());
}

}  // namespace

KeptOperand::KeptOperand(const Tensor& tensor) {
  if (!tensor.is_defined()) return;
  buffer_ = tensor.storage()->buffer();
  begin_ = begin_in_buffer(tensor);
  shape_ = tensor.shape();
  strides_ = tensor.strides();
  dtype_ = tensor.dtype();
}

// Companions name bytes by their place in the buffer, so two of them are compared at one place.
bool KeptOperand::has_bits_of(const Tensor& tensor) const {
  if (!tensor.is_defined()) return buffer_ == nullptr;
  if (!buffer_ || tensor.dtype() != dtype_ || tensor.shape() != shape_ ||
      tensor.strides() != strides_)
    return false;
  const BufferPtr& other = tensor.storage()->buffer();
  std::size_t other_begin = begin_in_buffer(tensor);
  if (other == buffer_ && other_begin == begin_) return true;
  const CompanionPtr &known = buffer_->companion(), &now = other->companion();
  bool has_same_companion =
      known && now ? other_begin == begin_ && known->is_same(*now) : !known && !now;
  return has_same_companion &&
         std::memcmp(buffer_->data() + begin_, other->data() + other_begin, span()) == 0;
}

std::size_t KeptOperand::span() const {
  std::size_t last = 0;
  for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
    if (shape_[dim] == 0) return 0;
    last += std::size_t(shape_[dim] - 1) * std::size_t(strides_[dim]);
  }
  return (last + 1) * bytes_per_element(dtype_);
}

}  // namespace simmesh
