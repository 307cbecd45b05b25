#include "core/arithmetic/companions/exact_value_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "core/arithmetic/sums/non_finite_terms.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns the digits that sums of so many of the numerators need.
DigitRange digits_for(const ExactContent& content, std::int64_t terms) {
  BitRange bits;
  for (double x : content.high) bits.add(x);
  for (double x : content.low) bits.add(x);
  DigitRange range = bits.digits(2 * terms);
  if (content.wide.digit_count() == 0) return range;
  int lowest = 32 * content.wide.low();
  return range.joined(
      DigitRange::of_bits(lowest, lowest + 32 * content.wide.digit_count(), 2 * terms));
}

// LongSums adds values to few of the sums, in digits: those that pairs can't hold.
class LongSums {
 public:
  // The sums that are marked get a place each.
  LongSums(const ExactContent& content, const std::vector<char>& is_long, std::int64_t terms)
      : content_(content), place_of_(is_long.size(), -1) {
    for (std::size_t i = 0; i < is_long.size(); ++i) {
      if (!is_long[i]) continue;
      place_of_[i] = std::int64_t(places_.size());
      places_.push_back(std::int64_t(i));
    }
    sums_.emplace(std::int64_t(places_.size()), digits_for(content, terms));
  }

  void add(std::int64_t sum, std::int64_t i) {
    std::int64_t place = place_of_[std::size_t(sum)];
    if (place < 0) return;
    sums_->add(place, content_.high[std::size_t(i)]);
    if (!content_.low.empty()) sums_->add(place, content_.low[std::size_t(i)]);
    auto found = std::lower_bound(content_.wide_places.begin(), content_.wide_places.end(), i);
    if (found != content_.wide_places.end() && *found == i)
      sums_->add_digits(place, digits_of(content_.wide, found - content_.wide_places.begin()));
  }

  void settle(ExactContent& result) { result.settle(places_, sums_->take()); }

 private:
  const ExactContent& content_;
  std::vector<std::int64_t> place_of_, places_;
  std::optional<DigitSums> sums_;
};

std::vector<TripleSum> term_triples(const std::vector<double>& terms, const SumDims& dims) {
  return triple_sums({.data = reinterpret_cast<const std::byte*>(terms.data()),
                      .dtype = DType::float64,
                      .outer = dims.outer,
                      .count = dims.count,
                      .inner = dims.inner},
                     kernels_of(best_instruction_set()));
}

ExactPair with_triple(const ExactPair& pair, const TripleSum& sum) {
  std::optional<TwoSum> exact = sum.exact();
  if (!exact) return {.missed = 1};
  return added(added(pair, exact->sum), exact->rest);
}

}  // namespace

ExactContent summed(const ExactContent& terms, const SumDims& dims) {
  if (dims.outer < 0 || dims.count < 0 || dims.inner < 0 ||
      dims.outer * dims.count * dims.inner != terms.count)
    raise(ErrorKind::value_error, "companions/values",
          "expected dims of {} values, got {} x {} x {}", terms.count, dims.outer, dims.count,
          dims.inner);
  ExactContent result{.count = dims.outer * dims.inner, .divisor = terms.divisor};
  std::vector<TripleSum> highs = term_triples(terms.high, dims), lows;
  if (!terms.low.empty()) lows = term_triples(terms.low, dims);
  std::vector<std::int64_t> inexact = result.fill([&](std::int64_t i) {
    ExactPair pair = with_triple(ExactPair{}, highs[std::size_t(i)]);
    return lows.empty() ? pair : with_triple(pair, lows[std::size_t(i)]);
  });
  if (inexact.empty() && terms.wide_places.empty()) return result;
  auto sum_at = [&dims](std::int64_t i) {
    return i / (dims.count * dims.inner) * dims.inner + i % dims.inner;
  };
  std::vector<char> is_long(std::size_t(result.count), 0);
  for (std::int64_t place : inexact) is_long[std::size_t(place)] = 1;
  for (std::int64_t place : terms.wide_places) is_long[std::size_t(sum_at(place))] = 1;
  LongSums sums(terms, is_long, dims.count);
  for (std::int64_t sum = 0; sum < result.count; ++sum) {
    if (!is_long[std::size_t(sum)]) continue;
    std::int64_t first = sum / dims.inner * dims.count * dims.inner + sum % dims.inner;
    for (std::int64_t k = 0; k < dims.count; ++k) sums.add(sum, first + k * dims.inner);
  }
  sums.settle(result);
  return result;
}

ExactContent summed_at(const ExactContent& terms, gsl::span<const std::int64_t> index,
                       std::int64_t sums) {
  if (std::int64_t(index.size()) != terms.count)
    raise(ErrorKind::value_error, "companions/values", "expected {} indices, got {}", terms.count,
          index.size());
  std::vector<ExactPair> pairs(std::size_t(sums), ExactPair{});
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < -1 || index[i] >= sums)
      raise(ErrorKind::index_error, "companions/values",
            "expected an index below {}, or -1, got {}", sums, index[i]);
    if (index[i] < 0) continue;
    ExactPair& pair = pairs[std::size_t(index[i])];
    pair = added(pair, terms.high[i]);
    if (!terms.low.empty()) pair = added(pair, terms.low[i]);
  }
  for (std::int64_t place : terms.wide_places)
    if (std::int64_t sum = index[std::size_t(place)]; sum >= 0) pairs[std::size_t(sum)].missed = 1;
  ExactContent result{.count = sums, .divisor = terms.divisor};
  std::vector<std::int64_t> inexact =
      result.fill([&pairs](std::int64_t i) { return pairs[std::size_t(i)]; });
  if (inexact.empty()) return result;
  std::vector<char> is_long(std::size_t(sums), 0);
  for (std::int64_t place : inexact) is_long[std::size_t(place)] = 1;
  LongSums long_sums(terms, is_long, std::int64_t(index.size()));
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] >= 0) long_sums.add(index[i], std::int64_t(i));
  long_sums.settle(result);
  return result;
}

}  // namespace simmesh
