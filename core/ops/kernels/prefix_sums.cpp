#include "core/ops/kernels/prefix_sums.h"

#include <optional>
#include <vector>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/triple_sum.h"

namespace simmesh {

namespace {

// PrefixSum is the exact sum of the first terms of a line: as three doubles, which settle nearly
// all prefixes, and else in a long accumulator, which adds the terms that it lacks.
class PrefixSum {
 public:
  PrefixSum(const std::vector<double>& terms, DType dtype) : terms_(terms), dtype_(dtype) {}

  // next appends the next term of the line and returns the sum, rounded once to the dtype.
  double next() {
    double x = terms_[count_++];
    non_finite_ = NonFiniteTerms::merged(non_finite_, NonFiniteTerms::of(x));
    if (non_finite_ != 0) return NonFiniteTerms::value(non_finite_);
    sum_.add(x);
    if (std::optional<double> rounded = sum_.rounded(dtype_)) return *rounded;
    if (!long_sum_) long_sum_.emplace(1, DigitRange::whole());
    for (; deposited_ < count_; ++deposited_) long_sum_->add(0, terms_[deposited_]);
    CarriedSums exact = long_sum_->take();
    long_sum_->add_sums(exact);
    return exact.rounded(0, dtype_);
  }

 private:
  const std::vector<double>& terms_;
  DType dtype_;
  std::size_t count_ = 0, deposited_ = 0;
  std::int64_t non_finite_ = 0;
  TripleSum sum_;
  std::optional<DigitSums> long_sum_;
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
        PrefixSum sum(terms, x.data.dtype());
        for (std::size_t k = 0; k < count; ++k)
          target[begin + k * inner] = rounded_to<T>(sum.next());
      }
    }
  });
}

}  // namespace simmesh
