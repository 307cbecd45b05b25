#pragma once

#include <cstddef>
#include <vector>

#include "core/arithmetic/companions/exact_content.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// rounded_elements returns the values as elements of a floating dtype, each rounded once, ties to
// even.
std::vector<std::byte> rounded_elements(const ExactContent& content, DType dtype);

// rounded_to_doubles returns the values rounded to float64.
ExactContent rounded_to_doubles(const ExactContent& content);

// Unrooted are the values of a content themselves, or its roots rounded to float64.
class Unrooted {
 public:
  explicit Unrooted(const ExactContent& content) : content_(content) {
    if (content.is_root) rounded_ = rounded_to_doubles(content);
  }
  const ExactContent& operator*() const { return content_.is_root ? rounded_ : content_; }
  const ExactContent* operator->() const { return &**this; }

 private:
  const ExactContent& content_;
  ExactContent rounded_;
};

// signed_doubles returns numerators as doubles, where one that isn't 0 has its sign, and one that
// is finite is so.
std::vector<double> signed_doubles(const ExactContent& content);

// are_elements says of each value whether the element that `rounded` has for it is all of it.
std::vector<char> are_elements(const ExactContent& content, DType dtype, const std::byte* rounded);

}  // namespace simmesh
