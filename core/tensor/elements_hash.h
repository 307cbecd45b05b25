#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>

#include "core/check/bits_hash.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// ElementsHash hashes the elements of a tensor by their bits, but takes every NaN for the same one:
// which bits a NaN has is up to the processor and the compiler, so equal programs may differ there.
// Elements come in pieces; how they are cut changes nothing.
class ElementsHash {
 public:
  explicit ElementsHash(DType dtype) : dtype_(dtype) {}

  // update takes whole elements of the dtype.
  void update(gsl::span<const std::byte> elements);
  std::uint64_t value() const { return hash_.value(); }

 private:
  BitsHash hash_;
  DType dtype_;
};

// elements_hash returns the value of an ElementsHash over all the elements at once: bits_hash of
// their bytes where none is NaN.
std::uint64_t elements_hash(gsl::span<const std::byte> elements, DType dtype);

}  // namespace simmesh
