#pragma once

#include <cstdint>
#include <gsl/span>
#include <memory>
#include <vector>

#include "core/arithmetic/companions/element_array.h"
#include "core/arithmetic/companions/exact_content.h"
#include "core/arithmetic/companions/exact_value_sums.h"
#include "core/arithmetic/products/product_request.h"
#include "core/arithmetic/sums/carried_sums.h"

namespace simmesh {

// ExactValues are real numbers, each of which is exact: the values behind the elements of a tensor.
// Linear operations on them round nothing, so values that were computed apart, in any order and
// grouping, are the same ones; round_into rounds each of them once.
//
//   ExactValues x = ExactValues::of_doubles({1e20, 1, -1e20});
//   ExactValues mean = x.summed({.count = x.count()}).divided(double(x.count()));
//   std::vector<std::byte> third = mean.round(DType::float32);
//
// Three rules bound the memory. A value with more than 32 digits of 32 bits between its first and
// last one, or with bits that no product of two doubles has, is rounded to float64. All values of
// an array have one divisor; where two have no common multiple below 2^53, values over a divisor
// are rounded to float64 first. A square root is kept only by itself: other operations than those
// below that name roots take it rounded to float64.
//
// A zero that an operation gave is +0. A -0 is kept only as an element's own: through `of`, taken,
// joined and round_into. So a sum of parts has the sign of the whole sum, and negated zeros, unlike
// PyTorch's, are +0. A NaN that an operation gave is the one quiet NaN; infinities and NaNs go on
// as IEEE arithmetic takes them.
//
// A cheap value: copies share what is immutable.
class ExactValues {
 public:
  ExactValues() : ExactValues(zeros(0)) {}
  explicit ExactValues(ExactContent content);
  static ExactValues zeros(std::int64_t count);
  static ExactValues of(const ElementArray& elements);
  static ExactValues of_doubles(std::vector<double> values);
  static ExactValues of_sums(const CarriedSums& sums);
  // of_product multiplies matrices of rounded elements. product.result isn't used.
  static ExactValues of_product(const Product& product);

  std::int64_t count() const;
  std::int64_t divisor() const;
  // is_root is true for the square roots of what is kept, such as 2-norms.
  bool is_root() const;
  // nbytes counts what isn't shared with values of another origin.
  std::int64_t nbytes() const;

  // plus and times work value by value; a count of 1 is repeated. Raise a ValueError where the
  // counts differ otherwise.
  ExactValues plus(const ExactValues& other, double factor = 1.0) const;
  ExactValues times(const ExactValues& other) const;
  // scaled multiplies by a double, exactly, but by the rational 1/N where the factor is 1.0 / N for
  // an integer N below 2^32. A root stays one, unless the factor is negative.
  ExactValues scaled(double factor) const;
  // divided keeps the divisor; see can_be_divided. A root over sqrt(N) is the root of a value over
  // N, for an integer N below 2^53. Division by 0, infinity and NaN is that of float64.
  ExactValues divided(double divisor) const;

  // summed returns outer * inner sums. Raises a ValueError where the dims don't give count().
  ExactValues summed(const SumDims& dims) const;
  // summed_at adds value i to sum index[i] of count sums; -1 drops it. Raises a ValueError for
  // another number of indices, and an IndexError for one that is out of range.
  ExactValues summed_at(gsl::span<const std::int64_t> index, std::int64_t count) const;
  // taken returns the values at the indices, and 0 for -1. Raises an IndexError.
  ExactValues taken(gsl::span<const std::int64_t> index) const;
  // joined returns the values of several one after the other. The result has roots where all have,
  // or are doubles that aren't negative.
  static ExactValues joined(gsl::span<const ExactValues> parts);

  // root returns the square roots; square what is under the roots, or the square of other values.
  ExactValues root() const;
  ExactValues square() const;

  // round_into rounds each value once to the array's dtype, ties to even. round returns the
  // elements one after the other. Raise a ValueError for an array of another count.
  void round_into(const ElementArray& target) const;
  std::vector<std::byte> round(DType dtype) const;
  // equals is true where the array has the bits that round_into would write.
  bool equals(const ElementArray& array) const;
  // are_elements says of each value whether the element that `rounded` has for it, of a dtype, is
  // all of it. A root is never so, as it goes on in other ways than its element.
  std::vector<char> are_elements(DType dtype, const std::byte* rounded) const;
  // content is how the values are kept.
  const ExactContent& content() const { return *content_; }
  // sums returns the values as unrounded sums; roots are rounded to float64.
  CarriedSums sums() const;

 private:
  std::shared_ptr<const ExactContent> content_;
};

}  // namespace simmesh
