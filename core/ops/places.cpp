#include <cstring>

#include <simmesh/core/check/error.h>
#include <simmesh/core/ops/places.h>
#include <simmesh/core/tensor/convert.h>

namespace simmesh {

namespace {

DType place_sum_dtype(DType dtype) {
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

}  // namespace

void check_index_type(const TensorType& index, std::string_view where) {
  if (index.dtype != DType::int64 && index.dtype != DType::int32)
    raise(ErrorKind::index_error, where, "expected an index of dtype int64 or int32, got {}",
          to_string(index.dtype));
}

Places checked_indices(const Tensor& index, const IndexRule& rule) {
  Tensor flat = converted(index, DType::int64).contiguous();
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
  DType dtype = place_sum_dtype(out.dtype());
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
