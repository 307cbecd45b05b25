#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace simmesh {

// ElementArray is a strided array of floating elements in memory of the program around, such as a
// tensor of PyTorch. Strides of 0 are those of an expanded dim.
struct ElementArray {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
  Shape shape;
  Strides strides;  // in elements

  std::int64_t count() const { return numel(shape); }
  std::int64_t element_bytes() const { return std::int64_t(bytes_per_element(dtype)); }
};

// is_row_major is true where the elements lie one after the other.
bool is_row_major(const ElementArray& array);

// RowMajorElements are the elements of an array, one after the other: those in place where they lie
// so, else a copy.
class RowMajorElements {
 public:
  explicit RowMajorElements(const ElementArray& array);
  const std::byte* data() const { return data_; }

 private:
  std::vector<std::byte> copy_;
  const std::byte* data_;
};

// write_row_major writes elements that lie one after the other into an array.
void write_row_major(const ElementArray& array, const std::byte* elements);

// doubles_of returns the elements as doubles, exactly.
std::vector<double> doubles_of(const ElementArray& array);

// places_of returns the place of each element, in elements from data on.
std::vector<std::int64_t> places_of(const ElementArray& array);

}  // namespace simmesh
