#include "core/tensor/dims.h"

#include <fmt/format.h>
#include <stdexcept>

namespace simmesh {

std::size_t Dims::checked(std::size_t index) const {
  if (index >= size_)
    throw std::out_of_range(fmt::format("expected an index below {}, got {}", size_, index));
  return index;
}

void Dims::copy_long(const Dims& other) {
  long_ = std::make_unique<std::int64_t[]>(other.capacity_);
  capacity_ = other.capacity_;
  std::copy(other.begin(), other.end(), long_.get());
}

void Dims::grow(std::size_t count) {
  std::size_t capacity = std::max(count, 2 * std::size_t(capacity_));
  auto longer = std::make_unique<std::int64_t[]>(capacity);
  std::copy(begin(), end(), longer.get());
  long_ = std::move(longer);
  capacity_ = std::uint32_t(capacity);
}

Dims::iterator Dims::open_gap(const_iterator at, std::size_t count) {
  auto before = std::size_t(at - begin());
  std::size_t old_size = size_;
  reserve(old_size + count);
  std::copy_backward(begin() + before, begin() + old_size, begin() + old_size + count);
  size_ = std::uint32_t(old_size + count);
  return begin() + before;
}

}  // namespace simmesh
