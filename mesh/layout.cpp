#include "mesh/layout.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/tensor/shape.h"

namespace simmesh {

Layout::Layout(std::initializer_list<LayoutDim> dims)
    : Layout(gsl::span<const LayoutDim>(dims.begin(), dims.size())) {}

Layout::Layout(gsl::span<const LayoutDim> dims) {
  for (const LayoutDim& dim : dims) append_coalesced(dim);
  for (const LayoutDim& dim : dims_)
    if (__builtin_mul_overflow(size_, dim.size, &size_))
      raise(ErrorKind::value_error, "mesh/layout", "expected fewer than 2^63 indices, got {}",
            to_string(*this));
  std::int64_t reach = 0;
  bool overflow = false;
  DecodeDims decode = decode_dims();
  for (std::size_t dim = decode.size(); dim-- > 0;) {
    decodable_ &= decode[dim].step > reach;
    overflow |= __builtin_add_overflow(reach, (decode[dim].size - 1) * decode[dim].step, &reach);
    row_major_ &= !decode[dim].backward;
  }
  row_major_ &= sorted();
  if (overflow)
    raise(ErrorKind::value_error, "mesh/layout", "expected offsets below 2^63, got {}",
          to_string(*this));
}

void Layout::append_coalesced(LayoutDim dim) {
  SIMMESH_CHECK(dim.size >= 1, "a layout dim has size {}", dim.size);
  if (dim.size == 1) return;
  SIMMESH_CHECK(dim.stride != 0, "a layout dim of size {} has stride 0", dim.size);
  std::int64_t reach;
  bool overflow = __builtin_mul_overflow(dim.stride, dim.size, &reach);
  if (overflow)
    raise(ErrorKind::value_error, "mesh/layout", "expected offsets below 2^63, got {}:{}", dim.size,
          dim.stride);
  if (!dims_.empty() && dims_.back().stride == reach)
    dims_.back() = {dims_.back().size * dim.size, dim.stride};
  else
    dims_.push_back(dim);
}

Layout::DecodeDims Layout::decode_dims() const {
  DecodeDims decode;
  std::int64_t index_step = 1;
  for (std::size_t dim = dims_.size(); dim-- > 0;) {
    decode.push_back(
        {std::abs(dims_[dim].stride), dims_[dim].size, index_step, dims_[dim].stride < 0});
    index_step *= dims_[dim].size;
  }
  std::sort(decode.begin(), decode.end(),
            [](const DecodeDim& a, const DecodeDim& b) { return a.step > b.step; });
  return decode;
}

std::optional<std::int64_t> Layout::index_among_dims(std::int64_t offset) const {
  SIMMESH_CHECK(decodable_, "index_of of the layout {}", to_string(*this));
  if (row_major_) {
    if (offset < 0) return std::nullopt;
    std::int64_t index = 0;
    for (const LayoutDim& dim : dims_) {
      std::int64_t steps = offset / dim.stride;
      if (steps >= dim.size) return std::nullopt;
      offset -= steps * dim.stride;
      index = index * dim.size + steps;
    }
    if (offset != 0) return std::nullopt;
    return index;
  }
  // Seen from the smallest offset all steps go upwards, so the largest step that fits is always
  // taken.
  std::int64_t rest = offset - min_offset();
  if (rest < 0) return std::nullopt;
  std::int64_t index = 0;
  for (const DecodeDim& dim : decode_dims()) {
    std::int64_t steps = rest / dim.step;
    if (steps >= dim.size) return std::nullopt;
    rest -= steps * dim.step;
    index += (dim.backward ? dim.size - 1 - steps : steps) * dim.index_step;
  }
  if (rest != 0) return std::nullopt;
  return index;
}

bool Layout::injective() const {
  if (decodable_) return true;
  if (size_ > max_offset() - min_offset() + 1) return false;
  std::vector<std::int64_t> all = offsets();
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) == all.end();
}

bool Layout::divides(std::int64_t total) const {
  for (const DecodeDim& dim : decode_dims()) {
    if (dim.backward || total % (dim.step * dim.size) != 0) return false;
    total = dim.step;
  }
  return true;
}

Layout Layout::complement(std::int64_t total) const {
  SIMMESH_CHECK(divides(total), "{} does not divide {}", to_string(*this), total);
  boost::container::small_vector<LayoutDim, 4> gaps;
  for (const DecodeDim& dim : decode_dims()) {
    std::int64_t reach = dim.step * dim.size;
    gaps.push_back({total / reach, reach});
    total = dim.step;
  }
  gaps.push_back({total, 1});
  return Layout(gsl::span<const LayoutDim>(gaps.data(), gaps.size()));
}

std::int64_t Layout::min_offset() const {
  std::int64_t offset = 0;
  for (const LayoutDim& dim : dims_)
    offset += (dim.size - 1) * std::min<std::int64_t>(dim.stride, 0);
  return offset;
}

std::int64_t Layout::max_offset() const {
  std::int64_t offset = 0;
  for (const LayoutDim& dim : dims_)
    offset += (dim.size - 1) * std::max<std::int64_t>(dim.stride, 0);
  return offset;
}

bool Layout::sorted() const {
  return std::is_sorted(dims_.begin(), dims_.end(),
                        [](const LayoutDim& a, const LayoutDim& b) { return a.stride > b.stride; });
}

std::vector<std::int64_t> Layout::offsets() const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size_));
  for (std::int64_t index = 0; index < size_; ++index)
    all[static_cast<std::size_t>(index)] = (*this)(index);
  return all;
}

namespace {

// A digit of a position in the outer layout, and the room that it has left before a carry.
struct Digit {
  LayoutDim dim;
  std::int64_t room = 0;
};
using Digits = boost::container::small_vector<Digit, 4>;
using LayoutDims = boost::container::small_vector<LayoutDim, 4>;

// Splits `start` into digits, last digit first, with the room that each has left.
std::optional<Digits> digits_of(const Layout& outer, std::int64_t start) {
  if (start < 0 || start >= outer.size()) return std::nullopt;
  Digits digits;
  gsl::span<const LayoutDim> dims = outer.dims();
  for (std::size_t dim = dims.size(); dim-- > 0;) {
    digits.push_back({dims[dim], dims[dim].size - 1 - start % dims[dim].size});
    start /= dims[dim].size;
  }
  return digits;
}

// Follows one dim of the inner layout through the digits, appends the dims that result (finest
// first) and uses up room.
bool compose_dim(Digits& digits, LayoutDim inner, LayoutDims& result) {
  std::int64_t step = inner.stride;
  std::int64_t count = inner.size;
  if (step < 0) return false;
  for (Digit& digit : digits) {
    if (count == 1) return true;
    std::int64_t size = digit.dim.size;
    if (step >= size) {
      if (step % size != 0) return false;
      step /= size;
      continue;
    }
    std::int64_t taken = count;
    if (count > (size - 1) / step + 1) {
      taken = size / step;
      if (size % step != 0 || count % taken != 0) return false;
    }
    digit.room -= (taken - 1) * step;
    result.push_back({taken, digit.dim.stride * step});
    count /= taken;
    step = 1;
  }
  return count == 1;
}

}  // namespace

std::optional<PlacedLayout> compose(const Layout& outer, const Layout& inner, std::int64_t start) {
  std::optional<Digits> digits = digits_of(outer, start);
  if (!digits) return std::nullopt;
  LayoutDims result;
  gsl::span<const LayoutDim> dims = inner.dims();
  for (std::size_t dim = dims.size(); dim-- > 0;)
    if (!compose_dim(*digits, dims[dim], result)) return std::nullopt;
  for (const Digit& digit : *digits)
    if (digit.room < 0) return std::nullopt;
  std::reverse(result.begin(), result.end());
  return PlacedLayout{outer(start),
                      Layout(gsl::span<const LayoutDim>(result.data(), result.size()))};
}

std::string to_string(const Layout& layout) {
  if (layout.dims().empty()) return "1:0";
  if (layout.dims().size() == 1)
    return fmt::format("{}:{}", layout.dims()[0].size, layout.dims()[0].stride);
  Dims sizes, strides;
  for (const LayoutDim& dim : layout.dims()) {
    sizes.push_back(dim.size);
    strides.push_back(dim.stride);
  }
  return fmt::format("({}):({})", join_text(sizes, ", "), join_text(strides, ", "));
}

}  // namespace simmesh
