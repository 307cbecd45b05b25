#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include <simmesh/core/arithmetic/kernels.h>
#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/sums.h>
#include <simmesh/core/arithmetic/wide_rounding.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

constexpr const char* sums_place = "arithmetic/sums";
// What is widened or mapped at once.
constexpr std::int64_t block_elements = 4096;

void check_request(const SumRequest& r) {
  bool floating = is_floating_point(r.dtype);
  bool fits = !r.result ||
              (floating ? is_floating_point(r.result_dtype)
                        : !is_floating_point(r.result_dtype) && r.result_dtype != DType::boolean);
  if (!fits || (!floating && r.term == SumTerm::squared_deviation))
    raise(ErrorKind::type_error, sums_place, "expected a sum of {} to its own kind, got {}",
          to_string(r.dtype), to_string(r.result_dtype));
  auto sums = std::size_t(r.outer * r.inner);
  SIMMESH_CHECK(r.totals.empty() || r.totals.size() == sums, "{} totals for {} sums",
                r.totals.size(), sums);
  SIMMESH_CHECK(r.term != SumTerm::squared_deviation || r.means.size() == sums,
                "{} means for {} sums", r.means.size(), sums);
}

template <class T>
void write(const SumRequest& r, std::int64_t index, T total) {
  if (!r.totals.empty()) r.totals[std::size_t(index)] = double(total);
  if (!r.result) return;
  visit_dtype(r.result_dtype, [&]<class R>(R) {
    R& out = reinterpret_cast<R*>(r.result)[index];
    if constexpr (std::is_integral_v<R>)
      out = static_cast<R>(total);
    else
      out = rounded_to<R>(double(total));
  });
}

template <class T>
void integer_sums(const SumRequest& r) {
  const T* x = reinterpret_cast<const T*>(r.data);
  std::vector<std::uint64_t> totals(std::size_t(r.inner), 0);
  for (std::int64_t o = 0; o < r.outer; ++o) {
    std::fill(totals.begin(), totals.end(), 0);
    for (std::int64_t i = 0; i < r.count; ++i)
      for (std::uint64_t& total : totals) {
        auto term = static_cast<std::uint64_t>(static_cast<std::int64_t>(*x++));
        if (r.term == SumTerm::square) term *= term;
        if (r.term == SumTerm::absolute && static_cast<std::int64_t>(term) < 0) term = 0 - term;
        total += term;
      }
    for (std::int64_t j = 0; j < r.inner; ++j)
      write(r, o * r.inner + j, static_cast<std::int64_t>(totals[std::size_t(j)]));
  }
}

// Chains in T of elements of type S, which are widened a block at a time where the types differ.
template <class T, class S>
class ChainSums {
 public:
  ChainSums(const SumRequest& request, const Kernels& kernels) : r_(request) {
    if constexpr (std::is_same_v<T, float>)
      kernel_ = kernels.chain_lines_float;
    else
      kernel_ = kernels.chain_lines_double;
  }

  void run() {
    bool lines = r_.inner == 1;
    std::int64_t width = lines ? std::min<std::int64_t>(8, r_.outer) : r_.inner;
    totals_.resize(std::size_t(width));
    std::int64_t groups = lines ? (r_.outer + width - 1) / width : r_.outer;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::int64_t sums = lines ? std::min(width, r_.outer - g * width) : width;
      std::fill(totals_.begin(), totals_.end(), T(0));
      std::int64_t step = std::is_same_v<T, S> ? std::max<std::int64_t>(r_.count, 1)
                                               : std::max<std::int64_t>(1, block_elements / width);
      for (std::int64_t i = 0; i < r_.count; i += step)
        stretch(g * width, sums, i, std::min(step, r_.count - i));
      for (std::int64_t j = 0; j < sums; ++j) write(r_, g * width + j, totals_[std::size_t(j)]);
    }
  }

 private:
  void stretch(std::int64_t first_sum, std::int64_t sums, std::int64_t begin, std::int64_t count) {
    LineTerms<T> terms{.count = count, .width = sums, .term = int(r_.term)};
    if (!r_.means.empty()) terms.means = r_.means.data() + first_sum;
    terms.transposed = r_.inner == 1;
    terms.stride = terms.transposed ? r_.count : r_.inner;
    const S* source = reinterpret_cast<const S*>(r_.data) + first_sum * r_.count +
                      begin * (terms.transposed ? 1 : r_.inner);
    if constexpr (std::is_same_v<T, S>) {
      terms.data = source;
    } else {
      std::int64_t lines = terms.transposed ? sums : count;
      std::int64_t line = terms.transposed ? count : sums;
      wide_.resize(std::size_t(lines * line));
      for (std::int64_t l = 0; l < lines; ++l)
        for (std::int64_t i = 0; i < line; ++i)
          wide_[std::size_t(l * line + i)] = static_cast<T>(source[l * terms.stride + i]);
      terms.stride = line;
      terms.data = wide_.data();
    }
    kernel_(terms, totals_.data());
  }

  const SumRequest& r_;
  void (*kernel_)(const LineTerms<T>&, T*) = nullptr;
  std::vector<T> totals_, wide_;
};

// ExactSums adds the sums of one outer index, terms a block at a time as doubles.
template <class S>
class ExactSums {
 public:
  explicit ExactSums(const SumRequest& request)
      : r_(request),
        bits_(51 - std::max(0, int(std::bit_width(std::uint64_t(request.count))) - 12)),
        sums_(std::size_t(request.inner)) {}

  void run() {
    for (std::int64_t o = 0; o < r_.outer; ++o) {
      std::fill(sums_.begin(), sums_.end(), Sum());
      each_block(o, [](Sum& sum, gsl::span<const double> terms) { sum.measure(terms); });
      for (Sum& sum : sums_) sum.choose_grid(bits_);
      each_block(o, [](Sum& sum, gsl::span<const double> terms) { sum.add(terms); });
      for (std::int64_t j = 0; j < r_.inner; ++j) finish(o * r_.inner + j, sums_[std::size_t(j)]);
    }
  }

 private:
  struct Sum {
    double largest = 0;
    std::int64_t non_finite = 0;
    int exponent = 0;
    double scale = 0, more_scale = 1, lower_scale = 0;
    std::uint64_t high = 0, low = 0;

    void measure(gsl::span<const double> terms) {
      bool finite = true;
      for (double x : terms) {
        double magnitude = std::fabs(x);
        bool is_finite = magnitude - magnitude == 0;
        finite = finite && is_finite;
        largest = is_finite && magnitude > largest ? magnitude : largest;
      }
      if (finite) return;
      for (double x : terms) non_finite = NonFiniteTerms::merged(non_finite, NonFiniteTerms::of(x));
    }

    void choose_grid(int bits) {
      if (largest == 0) return;
      std::frexp(largest, &exponent);
      int e = bits - exponent;
      scale = std::ldexp(1.0, e - e / 2);
      more_scale = std::ldexp(1.0, e / 2);
      lower_scale = std::ldexp(1.0, bits);
    }

    void add(gsl::span<const double> terms) {
      constexpr double constant = 0x1.8p52;
      constexpr auto excess = std::bit_cast<std::uint64_t>(constant);
      for (double x : terms) {
        double scaled = x - x == 0 ? x * scale * more_scale : 0;
        double held = scaled + constant;
        high += std::bit_cast<std::uint64_t>(held) - excess;
        if constexpr (std::is_same_v<S, double>) {
          double rest = (scaled - (held - constant)) * lower_scale;
          low += std::bit_cast<std::uint64_t>(rest + constant) - excess;
        }
      }
    }
  };

  double term(S x, double mean) const {
    double wide = widened(x);
    switch (r_.term) {
      case SumTerm::identity: return wide;
      case SumTerm::square: return wide * wide;
      case SumTerm::absolute: return std::fabs(wide);
      case SumTerm::squared_deviation: return (wide - mean) * (wide - mean);
    }
    return 0;
  }

  template <class F>
  void each_block(std::int64_t o, F&& f) {
    const S* x = reinterpret_cast<const S*>(r_.data) + o * r_.count * r_.inner;
    std::int64_t step = r_.inner == 1 ? std::min(block_elements, r_.count) : 1;
    terms_.resize(std::size_t(std::max<std::int64_t>(step, 1)));
    for (std::int64_t i = 0; i < r_.count; i += step)
      for (std::int64_t j = 0; j < r_.inner; ++j) {
        double mean = r_.means.empty() ? 0 : r_.means[std::size_t(o * r_.inner + j)];
        std::int64_t count = std::min(step, r_.count - i);
        for (std::int64_t k = 0; k < count; ++k)
          terms_[std::size_t(k)] = term(x[(i + k) * r_.inner + j], mean);
        f(sums_[std::size_t(j)], gsl::span<const double>(terms_.data(), std::size_t(count)));
      }
  }

  void finish(std::int64_t index, const Sum& sum) {
    WideQuotient total{
        .numerator = (Int128(std::int64_t(sum.high)) << bits_) + std::int64_t(sum.low),
        .exponent = sum.exponent - 2 * bits_};
    auto rounded = [&](DType dtype) {
      return sum.non_finite ? NonFiniteTerms::value(sum.non_finite)
                            : rounded_quotient(total, dtype);
    };
    if (!r_.totals.empty()) r_.totals[std::size_t(index)] = rounded(DType::float64);
    if (!r_.result) return;
    visit_dtype(r_.result_dtype, [&]<class R>(R) {
      if constexpr (!std::is_integral_v<R>)
        reinterpret_cast<R*>(r_.result)[index] = rounded_to<R>(rounded(r_.result_dtype));
    });
  }

  const SumRequest& r_;
  int bits_;
  std::vector<Sum> sums_;
  std::vector<double> terms_;
};

}  // namespace

void canonical_sum(const SumRequest& request, InstructionSet set) {
  check_request(request);
  visit_dtype(request.dtype, [&]<class S>(S) {
    if constexpr (std::is_integral_v<S>)
      integer_sums<S>(request);
    else if constexpr (std::is_same_v<S, double>)
      ChainSums<double, S>(request, kernels_of(set)).run();
    else
      ChainSums<float, S>(request, kernels_of(set)).run();
  });
}

void exact_sum(const SumRequest& request, InstructionSet set) {
  check_request(request);
  visit_dtype(request.dtype, [&]<class S>(S) {
    if constexpr (std::is_integral_v<S>)
      canonical_sum(request, set);
    else
      ExactSums<S>(request).run();
  });
}

}  // namespace simmesh
