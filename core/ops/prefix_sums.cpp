#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/wide_rounding.h>
#include <simmesh/core/ops/prefix_sums.h>

namespace simmesh {

namespace {

// PrefixSum is the exact sum of the first terms of a line, on the grid that exact_sum gives them.
class PrefixSum {
 public:
  explicit PrefixSum(DType dtype) : dtype_(dtype), keeps_rest_(dtype == DType::float64) {}

  // append adds the next term of the line, terms[count].
  void append(const std::vector<double>& terms, std::size_t count) {
    double x = terms[count], magnitude = std::fabs(x);
    if (magnitude - magnitude == 0)
      largest_ = std::max(largest_, magnitude);
    else
      non_finite_ = NonFiniteTerms::merged(non_finite_, NonFiniteTerms::of(x));
    bool is_same_grid = bits_ == bits_for(count + 1) && largest_ < coarser_at_;
    if (is_same_grid) return add(x);
    choose_grid(count + 1);
    high_ = low_ = 0;
    for (std::size_t i = 0; i <= count; ++i) add(terms[i]);
  }

  double value() const {
    if (non_finite_ != 0) return NonFiniteTerms::value(non_finite_);
    Int128 total = (Int128(std::int64_t(high_)) << bits_) + std::int64_t(low_);
    return rounded_quotient({.numerator = total, .exponent = exponent_ - 2 * bits_}, dtype_);
  }

 private:
  static int bits_for(std::size_t count) {
    return 51 - std::max(0, int(std::bit_width(std::uint64_t(count))) - 12);
  }

  void choose_grid(std::size_t count) {
    bits_ = bits_for(count);
    exponent_ = 0;
    coarser_at_ = 0;
    scale_ = 0;
    if (largest_ == 0) return;
    std::frexp(largest_, &exponent_);
    coarser_at_ = std::ldexp(1.0, exponent_);
    int e = bits_ - exponent_;
    scale_ = std::ldexp(1.0, e - e / 2);
    more_scale_ = std::ldexp(1.0, e / 2);
    lower_scale_ = std::ldexp(1.0, bits_);
  }

  void add(double x) {
    constexpr double constant = 0x1.8p52;
    constexpr auto excess = std::bit_cast<std::uint64_t>(constant);
    double scaled = x - x == 0 ? x * scale_ * more_scale_ : 0;
    double held = scaled + constant;
    high_ += std::bit_cast<std::uint64_t>(held) - excess;
    if (!keeps_rest_) return;
    double rest = (scaled - (held - constant)) * lower_scale_;
    low_ += std::bit_cast<std::uint64_t>(rest + constant) - excess;
  }

  DType dtype_;
  bool keeps_rest_;
  double largest_ = 0;
  std::int64_t non_finite_ = 0;
  int bits_ = 0;
  int exponent_ = 0;
  double coarser_at_ = 0;  // the magnitude from which on the grid is coarser
  double scale_ = 0, more_scale_ = 1, lower_scale_ = 0;
  std::uint64_t high_ = 0, low_ = 0;
};

}  // namespace

void exact_prefix_sums(const Folded& x, Tensor& out) {
  auto count = std::size_t(x.count), inner = std::size_t(x.inner);
  std::vector<double> terms(count);
  visit_dtype(x.data.dtype(), [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      auto source = x.data.values<T>();
      auto target = out.mutable_values<T>();
      for (std::int64_t line = 0; line < x.results(); ++line) {
        std::size_t begin = std::size_t(line) / inner * count * inner + std::size_t(line) % inner;
        for (std::size_t k = 0; k < count; ++k) terms[k] = widened(source[begin + k * inner]);
        PrefixSum sum(x.data.dtype());
        for (std::size_t k = 0; k < count; ++k) {
          sum.append(terms, k);
          target[begin + k * inner] = rounded_to<T>(sum.value());
        }
      }
    }
  });
}

}  // namespace simmesh
