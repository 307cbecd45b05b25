#include "core/ops/indexing/places.h"

#include <algorithm>
#include <cstring>

#include "core/arithmetic/compute.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/dim_list.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/unrounded_terms.h"
#include "core/tensor/convert.h"

namespace simmesh {

namespace {

DType block_sum_dtype(DType dtype) {
  if (dtype == DType::float64) return dtype;
  return is_floating_point(dtype) ? DType::float32 : DType::int64;
}

template <class T>
void add_values(gsl::span<T> out, const BlockSum& sum, gsl::span<const T> source) {
  std::size_t block = std::size_t(sum.block);
  T alpha = T(sum.alpha);
  for (std::size_t i = 0; i < sum.places.size(); ++i) {
    if (sum.places[i] < 0) continue;
    T* to = out.data() + std::size_t(sum.places[i]) * block;
    const T* from = source.data() + i * block;
    for (std::size_t k = 0; k < block; ++k) to[k] += alpha * from[k];
  }
}

// The terms of each block together: the block of x, then those of the source in their order.
void add_blocks_exactly(const BlockSum& sum, Tensor& out) {
  DType dtype = sum.alpha == 1 ? out.dtype() : block_sum_dtype(out.dtype());
  Tensor x = converted(sum.x, dtype).contiguous(), source = converted(sum.source, dtype);
  source = sum.alpha == 1 ? source.contiguous() : mul(source, sum.alpha);
  adopt_(out, sum.x);
  if (out.element_count() == 0) return;
  Places order;
  for (std::size_t i = 0; i < sum.places.size(); ++i)
    if (sum.places[i] >= 0) order.push_back(std::int64_t(i));
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return sum.places[std::size_t(a)] < sum.places[std::size_t(b)];
  });
  std::int64_t target_bytes = sum.block * std::int64_t(bytes_per_element(out.dtype()));
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    std::int64_t place = sum.places[std::size_t(order[begin])];
    while (end < order.size() && sum.places[std::size_t(order[end])] == place) ++end;
    auto count = std::int64_t(end - begin);
    Tensor terms = empty({count + 1, sum.block}, dtype);
    Tensor first = terms.narrow({.dim = 0, .start = 0, .length = 1});
    Tensor rest = terms.narrow({.dim = 0, .start = 1, .length = count});
    take_blocks(x, {place}, sum.block, first);
    take_blocks(source, Places(order.begin() + begin, order.begin() + end), sum.block, rest);
    compute(current_arithmetic(), SumRequest{.data = terms.data(),
                                             .dtype = dtype,
                                             .count = count + 1,
                                             .inner = sum.block,
                                             .result = out.mutable_data() + place * target_bytes,
                                             .result_dtype = out.dtype()});
  }
}

}  // namespace

void check_index_type(const TensorType& index, std::string_view where) {
  if (index.dtype != DType::int64 && index.dtype != DType::int32)
    raise(ErrorKind::index_error, where, "expected an index of dtype int64 or int32, got {}",
          to_string(index.dtype));
}

Places checked_indices(const Tensor& index, const IndexRule& rule) {
  Tensor flat = converted(index, DType::int64).contiguous();
  if (!flat.has_elements()) return Places(std::size_t(flat.element_count()), 0);
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
  if (!fits && element_count(by) != 0)
    raise(ErrorKind::runtime_error, where,
          "expected an index that fits the tensor, got the shapes {} and {}",
          to_string(DimSpan(types.index.shape)), to_string(DimSpan(types.x.shape)));
}

std::int64_t indexed_dim(const Attributes& attributes, const Shape& shape) {
  return wrapped_dim(attributes.get<std::int64_t>("dim"), shape.size());
}

Shape with_dims(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }

std::int64_t block_after(const Shape& shape, std::int64_t dim) {
  return element_count(DimSpan(shape).subspan(std::size_t(dim) + 1));
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
  std::int64_t outer = element_count(DimSpan(shape).first(std::size_t(dim)));
  Places places;
  places.reserve(std::size_t(outer) * indices.size());
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t index : indices) places.push_back(i * shape[std::size_t(dim)] + index);
  return places;
}

void take_blocks(const Tensor& x, const Places& places, std::int64_t block, Tensor& out) {
  if (out.element_count() == 0) return;
  std::size_t bytes = std::size_t(block) * bytes_per_element(x.dtype());
  const std::byte* source = x.data();
  std::byte* target = out.mutable_data();
  for (std::int64_t place : places) {
    if (place >= 0) std::memcpy(target, source + std::size_t(place) * bytes, bytes);
    target += bytes;
  }
}

void put_blocks(Tensor& out, const Places& places, std::int64_t block, const Tensor& source) {
  if (out.element_count() == 0 || source.element_count() == 0) return;
  std::size_t bytes = std::size_t(block) * bytes_per_element(out.dtype());
  std::byte* target = out.mutable_data();
  const std::byte* from = source.data();
  for (std::int64_t place : places) {
    if (place >= 0) std::memcpy(target + std::size_t(place) * bytes, from, bytes);
    from += bytes;
  }
}

void add_blocks(const BlockSum& sum, Tensor& out) {
  if (keeps_unrounded() && is_floating_point(out.dtype())) return write_unrounded_blocks(sum, out);
  if (current_arithmetic().is_exact() && is_floating_point(out.dtype()))
    return add_blocks_exactly(sum, out);
  DType dtype = block_sum_dtype(out.dtype());
  Tensor total = converted(sum.x, dtype).clone();
  Tensor source = converted(sum.source, dtype).contiguous();
  auto add = [&]<class T>(T) {
    if (out.element_count() > 0) add_values<T>(total.mutable_values<T>(), sum, source.values<T>());
  };
  if (dtype == DType::float64)
    add(double());
  else if (dtype == DType::float32)
    add(float());
  else
    add(std::int64_t());
  adopt_(out, converted(total, out.dtype()));
}

}  // namespace simmesh
