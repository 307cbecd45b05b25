#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <cstdint>
#include <gsl/span>

namespace simmesh {

class Companion;
using CompanionPtr = boost::intrusive_ptr<const Companion>;

// ByteRange is a range of the bytes of a buffer.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t count = 0;
};

// ElementPlaces are the places of a strided array's elements in a buffer: the first at byte
// `begin`, strides in elements.
struct ElementPlaces {
  std::size_t begin = 0;
  gsl::span<const std::int64_t> shape;
  gsl::span<const std::int64_t> strides;
  std::size_t element_bytes = 1;
};

// Companion is what a layer above keeps about the elements of a buffer, beside its bytes.
// core/arithmetic has the one implementation: unrounded sums. It follows the elements where they
// are copied or shared, belongs to no rank's memory, and is dropped for elements that anything else
// writes. It is immutable; null stands for nothing.
class Companion : public boost::intrusive_ref_counter<Companion> {
 public:
  virtual ~Companion() = default;

  // is_same is true if another one is known to say the same of each byte.
  virtual bool is_same(const Companion& other) const = 0;

  // slice returns the companion of a range of bytes, as for a buffer that begins there.
  virtual CompanionPtr slice(const ByteRange& range) const = 0;

  // without returns what is left after a range of bytes was written.
  virtual CompanionPtr without(const ByteRange& range) const = 0;

  // with_copy returns the companion of a target buffer after elements of this one's buffer were
  // copied into it, from the places `source` to the places `target`; `before` is the target's
  // companion before the copy.
  virtual CompanionPtr with_copy(const CompanionPtr& before, const ElementPlaces& source,
                                 const ElementPlaces& target) const = 0;
};

}  // namespace simmesh
