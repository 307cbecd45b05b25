#include "core/arithmetic/sums/triple_sum.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/arithmetic/sums/rounding.h"

namespace simmesh {

namespace {

bool is_same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

double rounded_pair(double a, double b, DType dtype) {
  TwoSum x = TwoSum::of(a, b);
  if (x.sum == 0) return 0;
  if (dtype == DType::float64 || x.sum - x.sum != 0) return x.sum;
  double odd = odd_double_of(x);
  return visit_dtype(dtype, [&]<class T>(T) -> double {
    if constexpr (std::is_integral_v<T>)
      return odd;
    else
      return widened(rounded_to<T>(odd));
  });
}

std::optional<TwoSum> TripleSum::exact() const {
  TwoSum x = TwoSum::of(high_, low_);
  bool is_finite = x.sum - x.sum == 0 && x.rest - x.rest == 0;
  return is_finite && missed_ == 0 ? std::optional(x) : std::nullopt;
}

std::optional<double> TripleSum::rounded(DType dtype) const {
  TwoSum x = TwoSum::of(high_, low_);
  if (x.sum - x.sum != 0 || x.rest - x.rest != 0 || missed_ - missed_ != 0) return std::nullopt;
  if (missed_ == 0) return rounded_pair(x.sum, x.rest, dtype);
  constexpr double margin = 1.001;
  double bound = missed_ * margin + std::fabs(x.rest) * 0x1p-51;
  double least = rounded_pair(x.sum, x.rest - bound, dtype);
  double most = rounded_pair(x.sum, x.rest + bound, dtype);
  if (!is_same(least, most) || least - least != 0) return std::nullopt;
  return least;
}

}  // namespace simmesh
