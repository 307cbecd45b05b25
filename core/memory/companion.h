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

// ElementPlaces are the elements of a strided array in a buffer: the first at byte `begin`, strides
// in elements.
struct ElementPlaces {
  std::size_t begin = 0;
  gsl::span<const std::int64_t> shape;
  gsl::span<const std::int64_t> strides;
  std::size_t element_bytes = 1;
};

// Companion is what a layer above keeps of the elements of a buffer beside its bytes:
// core/arithmetic has the one implementation, sums that aren't rounded yet. It goes where the
// elements are copied or shared, belongs to no rank's memory, and ends for elements that anything
// else writes. It is immutable; null stands for nothing.
class Companion : public boost::intrusive_ref_counter<Companion> {
 public:
  virtual ~Companion() = default;

  // slice returns what is kept of a range of bytes, as of a buffer that begins there.
  virtual CompanionPtr slice(const ByteRange& range) const = 0;

  // without returns the rest once a range of bytes was written.
  virtual CompanionPtr without(const ByteRange& range) const = 0;

  // with_copy returns what is kept of a buffer, of which `before` was kept, once elements of this
  // one's were copied into it, source by source into target.
  virtual CompanionPtr with_copy(const CompanionPtr& before, const ElementPlaces& source,
                                 const ElementPlaces& target) const = 0;
};

}  // namespace simmesh
