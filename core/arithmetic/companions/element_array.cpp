#include "core/arithmetic/companions/element_array.h"

#include <cstring>
#include <numeric>

#include "core/arithmetic/sums/rounding.h"
#include "core/tensor/strided_copy.h"

namespace simmesh {

bool is_row_major(const ElementArray& array) {
  if (array.count() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t dim = array.shape.size(); dim-- > 0;) {
    if (array.shape[dim] != 1 && array.strides[dim] != expected) return false;
    expected *= array.shape[dim];
  }
  return true;
}

RowMajorElements::RowMajorElements(const ElementArray& array) : data_(array.data) {
  if (is_row_major(array)) return;
  copy_.resize(std::size_t(array.count() * array.element_bytes()));
  Strides rows = contiguous_strides(array.shape);
  strided_copy({copy_.data(), rows}, {array.data, array.strides}, array.shape,
               std::size_t(array.element_bytes()));
  data_ = copy_.data();
}

void write_row_major(const ElementArray& array, const std::byte* elements) {
  if (array.count() == 0) return;
  if (is_row_major(array)) {
    std::memcpy(array.data, elements, std::size_t(array.count() * array.element_bytes()));
    return;
  }
  Strides rows = contiguous_strides(array.shape);
  strided_copy({array.data, array.strides}, {elements, rows}, array.shape,
               std::size_t(array.element_bytes()));
}

std::vector<double> doubles_of(const ElementArray& array) {
  RowMajorElements elements(array);
  std::vector<double> values(std::size_t(array.count()));
  visit_dtype(array.dtype, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      const T* source = reinterpret_cast<const T*>(elements.data());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = widened(source[i]);
    }
  });
  return values;
}

std::vector<std::int64_t> places_of(const ElementArray& array) {
  std::vector<std::int64_t> places(std::size_t(array.count()));
  if (is_row_major(array)) {
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  Dims index(array.shape.size());
  for (std::int64_t& place : places) {
    place = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) place += index[dim] * array.strides[dim];
    next_index(index, array.shape);
  }
  return places;
}

}  // namespace simmesh
