#pragma once

#include <cstddef>

#include "core/memory/buffer.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// KeptOperand is an operand of a computation that is kept for later runs, to compare theirs with
// it. Its buffer stays as it is: nobody writes one that has two owners.
class KeptOperand {
 public:
  explicit KeptOperand(const Tensor& tensor);

  // has_bits_of is true if a tensor has the same shape, strides, dtype and bits, and the same
  // unrounded sums. An undefined tensor has the bits of another.
  bool has_bits_of(const Tensor& tensor) const;
  // span returns the bytes from the first element to the last one.
  std::size_t span() const;

 private:
  BufferPtr buffer_;  // null for an undefined tensor
  std::size_t begin_ = 0;
  Shape shape_;
  Strides strides_;
  DType dtype_ = DType::float32;
};

}  // namespace simmesh
