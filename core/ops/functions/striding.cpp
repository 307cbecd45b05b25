#include "core/ops/functions/striding.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/check/error.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

// Returns the dims of x that have these sizes and strides, in order; empty where x has others.
std::optional<Dims> order_of(const Tensor& x, DimSpan size, DimSpan strides) {
  Strides own = contiguous_strides(x.shape());
  if (size.size() != own.size()) return std::nullopt;
  Dims order;
  for (std::size_t i = 0; i < size.size(); ++i)
    for (std::int64_t dim = 0; dim < x.dim(); ++dim) {
      bool is_taken = std::find(order.begin(), order.end(), dim) != order.end();
      if (is_taken || x.size(dim) != size[i] || own[std::size_t(dim)] != strides[i]) continue;
      order.push_back(dim);
      break;
    }
  if (order.size() != size.size()) return std::nullopt;
  return order;
}

std::vector<std::int64_t> places_of(DimSpan size, DimSpan strides, std::int64_t offset) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(numel(size)));
  Dims at(size.size(), 0);
  for (std::int64_t& place : places) {
    place = offset;
    for (std::size_t dim = 0; dim < size.size(); ++dim) place += at[dim] * strides[dim];
    for (std::size_t dim = size.size(); dim-- > 0;) {
      if (++at[dim] < size[dim]) break;
      at[dim] = 0;
    }
  }
  return places;
}

}  // namespace

Tensor as_strided(const Tensor& x, DimSpan size, DimSpan strides,
                  std::optional<std::int64_t> offset) {
  if (size.size() != strides.size())
    raise(ErrorKind::runtime_error, "as_strided", "mismatch in length of strides and shape: {} {}",
          to_string(strides), to_string(size));
  if (offset.value_or(0) == 0)
    if (auto order = order_of(x, size, strides)) return permute(x, *order);
  if (x.distribution())
    raise(ErrorKind::runtime_error, "as_strided",
          "expected the sizes and strides of the dims of {} in any order, got {} and {}",
          to_string(DimSpan(x.shape())), to_string(size), to_string(strides));
  std::vector<std::int64_t> places = places_of(size, strides, offset.value_or(0));
  for (std::int64_t place : places)
    if (place < 0 || place >= x.numel())
      raise(ErrorKind::runtime_error, "as_strided", "expected places among {} elements, got {}",
            x.numel(), place);
  return reshape(index_select(reshape(x, {-1}), 0, vector_of<std::int64_t>(places)), size);
}

}  // namespace simmesh
