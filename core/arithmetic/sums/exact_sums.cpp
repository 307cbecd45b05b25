#include "core/arithmetic/sums/exact_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/rounding.h"

namespace simmesh {

namespace {

// Elements that are widened at once, for dtypes that the kernels don't read.
constexpr std::int64_t widened_elements = 4096;

// TripleLinesOf adds the terms of elements of type S; the kernels read float and double.
template <class S>
class TripleLinesOf {
 public:
  using T = std::conditional_t<std::is_same_v<S, double>, double, float>;

  TripleLinesOf(const SumRequest& request, const Kernels& kernels) : r_(request) {
    if constexpr (std::is_same_v<T, float>)
      kernel_ = kernels.triple_sums_float;
    else
      kernel_ = kernels.triple_sums_double;
    auto sums = std::size_t(r_.outer * r_.inner);
    for (auto* values : {&high_, &low_, &missed_}) values->assign(sums, 0);
  }

  std::vector<TripleSum> run() {
    if (r_.inner == 1) {
      stretch(0, r_.outer, 0, r_.count);
    } else {
      for (std::int64_t o = 0; o < r_.outer; ++o) stretch(o * r_.inner, r_.inner, 0, r_.count);
    }
    std::vector<TripleSum> sums;
    sums.reserve(high_.size());
    for (std::size_t i = 0; i < high_.size(); ++i) sums.emplace_back(high_[i], low_[i], missed_[i]);
    return sums;
  }

 private:
  void stretch(std::int64_t first_sum, std::int64_t sums, std::int64_t begin, std::int64_t count) {
    bool lines = r_.inner == 1;
    LineTerms<T> terms{.stride = lines ? r_.count : r_.inner,
                       .count = count,
                       .width = sums,
                       .term = int(r_.term),
                       .transposed = lines};
    if (!r_.means.empty()) terms.means = r_.means.data() + first_sum;
    const S* source =
        reinterpret_cast<const S*>(r_.data) + first_sum * r_.count + begin * (lines ? 1 : r_.inner);
    auto at = std::size_t(first_sum);
    if constexpr (std::is_same_v<S, T>) {
      terms.data = source;
      kernel_(terms, {high_.data() + at, low_.data() + at, missed_.data() + at});
    } else if (lines && sums > 1) {
      for (std::int64_t j = 0; j < sums; ++j) stretch(first_sum + j, 1, begin, count);
    } else {
      std::int64_t line = lines ? 1 : sums;
      std::int64_t step = std::max<std::int64_t>(1, widened_elements / line);
      for (std::int64_t i = 0; i < count; i += step) {
        terms.count = std::min(step, count - i);
        wide_.resize(std::size_t(terms.count * line));
        for (std::int64_t e = 0; e < terms.count * line; ++e)
          wide_[std::size_t(e)] = static_cast<T>(source[i * line + e]);
        terms.data = wide_.data();
        kernel_(terms, {high_.data() + at, low_.data() + at, missed_.data() + at});
      }
    }
  }

  const SumRequest& r_;
  void (*kernel_)(const LineTerms<T>&, const TripleLines&) = nullptr;
  std::vector<double> high_, low_, missed_;
  std::vector<T> wide_;
};

}  // namespace

std::vector<TripleSum> triple_sums(const SumRequest& request, const Kernels& kernels) {
  if (request.count == 0) return std::vector<TripleSum>(std::size_t(request.outer * request.inner));
  return visit_dtype(request.dtype, [&]<class S>(S) {
    if constexpr (std::is_integral_v<S>)
      return std::vector<TripleSum>();
    else
      return TripleLinesOf<S>(request, kernels).run();
  });
}

CarriedSums long_sum(const SumRequest& r, std::int64_t index) {
  DigitSums sum(1, DigitRange::whole());
  visit_dtype(r.dtype, [&]<class S>(S) {
    if constexpr (!std::is_integral_v<S>) {
      const S* x = reinterpret_cast<const S*>(r.data) + index / r.inner * r.count * r.inner +
                   index % r.inner;
      for (std::int64_t i = 0; i < r.count; ++i, x += r.inner) {
        double term = widened(*x);
        switch (r.term) {
          case SumTerm::identity: sum.add(0, term); break;
          case SumTerm::absolute: sum.add(0, std::fabs(term)); break;
          case SumTerm::square: sum.add_product(0, term, term); break;
          case SumTerm::squared_deviation: {
            double deviation = term - r.means[std::size_t(index)];
            sum.add(0, deviation * deviation);
            break;
          }
        }
      }
    }
  });
  return sum.take();
}

void exact_sum(const SumRequest& r, InstructionSet set) {
  check_sums(r);
  if (!is_floating_point(r.dtype)) return canonical_sum(r, set);
  std::vector<TripleSum> sums = triple_sums(r, kernels_of(set));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::optional<CarriedSums> exact;
    auto rounded = [&](DType dtype) {
      if (!exact)
        if (std::optional<double> value = sums[i].rounded(dtype)) return *value;
      if (!exact) exact = long_sum(r, std::int64_t(i));
      return exact->rounded(0, dtype);
    };
    if (!r.totals.empty()) r.totals[i] = rounded(DType::float64);
    if (!r.result) continue;
    visit_dtype(r.result_dtype, [&]<class R>(R) {
      if constexpr (!std::is_integral_v<R>)
        reinterpret_cast<R*>(r.result)[i] = rounded_to<R>(rounded(r.result_dtype));
    });
  }
}

}  // namespace simmesh
