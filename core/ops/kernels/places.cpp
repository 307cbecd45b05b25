#include "core/ops/kernels/places.h"

#include <cstring>

#include "core/check/error.h"
#include "core/ops/attribute_names.h"
#include "core/ops/dim_list.h"
#include "core/tensor/convert.h"

namespace simmesh {

void check_index_type(const TensorType& index, std::string_view where) {
  if (index.dtype != DType::int64 && index.dtype != DType::int32)
    raise(ErrorKind::index_error, where, "expected an index of dtype int64 or int32, got {}",
          to_string(index.dtype));
}

Places checked_indices(const Tensor& index, const IndexRule& rule) {
  Tensor flat = converted(index, DType::int64).contiguous();
  if (!flat.has_elements()) return Places(std::size_t(flat.numel()), 0);
  auto values = flat.values<std::int64_t>();
  Places places(values.begin(), values.end());
  for (std::int64_t& place : places) {
    if (place >= rule.size || place < (rule.wraps ? -rule.size : 0))
      raise(ErrorKind::index_error, rule.where,
            "index {} is out of bounds for dimension {} with size {}", place, rule.dim, rule.size);
    if (place < 0) place += rule.size;
  }
  return places;
}

void check_index_vector(const TensorType& index, std::string_view where) {
  check_index_type(index, where);
  if (index.shape.size() > 1)
    raise(ErrorKind::index_error, where, "Index is supposed to be a vector, but got {}",
          to_string(DimSpan(index.shape)));
}

void check_gather(const GatherTypes& types, std::string_view where) {
  check_index_type(types.index, where);
  Shape from = with_dims(types.x.shape), by = with_dims(types.index.shape);
  bool fits = from.size() == by.size();
  for (std::size_t d = 0; fits && d < by.size(); ++d)
    fits = std::int64_t(d) == types.dim || by[d] <= from[d];
  if (!fits && numel(by) != 0)
    raise(ErrorKind::runtime_error, where,
          "expected an index that fits the tensor, got the shapes {} and {}",
          to_string(DimSpan(types.index.shape)), to_string(DimSpan(types.x.shape)));
}

std::int64_t indexed_dim(const Attributes& attributes, const Shape& shape) {
  return wrapped_dim(attributes.get(attribute::dim), shape.size());
}

Shape with_dims(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

std::int64_t block_after(const Shape& shape, std::int64_t dim) {
  return numel(DimSpan(shape).subspan(std::size_t(dim) + 1));
}

Places element_places(const Shape& shape, std::int64_t dim, const Tensor& index,
                      std::string_view where) {
  Places places =
      checked_indices(index, {.dim = dim, .size = shape[std::size_t(dim)], .where = where});
  Strides strides = contiguous_strides(shape);
  Shape sizes = with_dims(index.shape());
  Dims at(sizes.size(), 0);
  for (std::int64_t& place : places) {
    std::int64_t offset = place * strides[std::size_t(dim)];
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (std::int64_t(d) != dim) offset += at[d] * strides[d];
    place = offset;
    next_index(at, sizes);
  }
  return places;
}

Places places_along(const Shape& shape, std::int64_t dim, const Places& indices) {
  std::int64_t outer = numel(DimSpan(shape).first(std::size_t(dim)));
  Places places;
  places.reserve(std::size_t(outer) * indices.size());
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t index : indices) places.push_back(i * shape[std::size_t(dim)] + index);
  return places;
}

void take_blocks(const Tensor& x, const Places& places, std::int64_t block, Tensor& out) {
  if (out.numel() == 0) return;
  std::size_t bytes = std::size_t(block) * bytes_per_element(x.dtype());
  const std::byte* source = x.data();
  std::byte* target = out.mutable_data();
  for (std::int64_t place : places) {
    if (place >= 0) std::memcpy(target, source + std::size_t(place) * bytes, bytes);
    target += bytes;
  }
}

void put_blocks(Tensor& out, const Places& places, std::int64_t block, const Tensor& source) {
  if (out.numel() == 0 || source.numel() == 0) return;
  std::size_t bytes = std::size_t(block) * bytes_per_element(out.dtype());
  std::byte* target = out.mutable_data();
  const std::byte* from = source.data();
  for (std::int64_t place : places) {
    if (place >= 0) std::memcpy(target + std::size_t(place) * bytes, from, bytes);
    from += bytes;
  }
}

}  // namespace simmesh
