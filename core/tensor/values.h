#pragma once

#include <concepts>
#include <cstddef>
#include <gsl/span>

#include "core/check/call_site.h"

namespace simmesh {

// Values are all elements of a contiguous tensor, row-major: a gsl::span whose [] raises an
// IndexError, with the rank and the caller's line, for an index that isn't there.
//
//   Values<float> values = tensor.mutable_values<float>();
//   values[3] = 1;
template <class T>
class Values : public gsl::span<T> {
 public:
  using gsl::span<T>::span;

  // Index is an element's number, with the line of the code that asks for it.
  struct Index {
    template <std::integral Number>
    constexpr Index(Number at, CallSite site = CallSite::here())
        : number(std::size_t(at)), line(site) {}
    std::size_t number;
    CallSite line;
  };

  T& operator[](Index index) const {
    if (index.number >= this->size()) [[unlikely]]
      refuse_index(index.number, this->size(), index.line);
    return this->data()[index.number];
  }
};

// refuse_index raises the IndexError.
[[noreturn]] void refuse_index(std::size_t index, std::size_t count, const CallSite& line);

}  // namespace simmesh
