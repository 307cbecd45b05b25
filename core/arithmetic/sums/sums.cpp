#include "core/arithmetic/sums/sums.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/arithmetic/sums/rounding.h"
#include "core/check/error.h"
#include "core/kernels/kernels.h"

namespace simmesh {

namespace {

constexpr const char* sums_place = "arithmetic/sums";
// Elements that are widened or mapped at once.
constexpr std::int64_t block_elements = 4096;

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

// Chains in T of elements of type S, which are widened block by block where the types differ.
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

}  // namespace

void check_sums(const SumRequest& r) {
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

void canonical_sum(const SumRequest& request, InstructionSet set) {
  check_sums(request);
  visit_dtype(request.dtype, [&]<class S>(S) {
    if constexpr (std::is_integral_v<S>)
      integer_sums<S>(request);
    else if constexpr (std::is_same_v<S, double>)
      ChainSums<double, S>(request, kernels_of(set)).run();
    else
      ChainSums<float, S>(request, kernels_of(set)).run();
  });
}

}  // namespace simmesh
