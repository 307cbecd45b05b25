#include "core/arithmetic/unrounded.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/arithmetic/sums/digit_sums.h"
#include "core/arithmetic/sums/rounding.h"
#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/sums/unrounded_sums.h"
#include "core/check/check.h"
#include "core/clock/clock.h"
#include "core/memory/ledger.h"

namespace simmesh {

namespace {

constexpr std::int64_t common_divisor_max = std::int64_t(1) << 53;
// Sums that are added at a time: they stay in the cache, and have no more digits than they need.
constexpr std::int64_t sums_at_once = 4096;

// Work in its scope belongs to no rank: neither its memory nor its time.
struct Unseen {
  Ledger::Uncharged memory;
  Clock::Quiet time;
};

const UnroundedSums* behind(const Tensor& tensor) {
  if (!tensor.has_elements() || tensor.numel() == 0) return nullptr;
  return UnroundedSums::of(tensor.storage()->buffer()->companion());
}

std::int64_t begin_of(const Tensor& tensor) {
  return std::int64_t(tensor.storage()->buffer_offset()) +
         tensor.storage_offset() * std::int64_t(bytes_per_element(tensor.dtype()));
}

// Returns the unrounded sums of a contiguous tensor, one entry a run.
std::vector<CarriedSums> runs_of(const Tensor& rows) {
  auto element = std::int64_t(bytes_per_element(rows.dtype()));
  std::int64_t from = begin_of(rows), to = from + rows.numel() * element, at = from;
  std::vector<CarriedSums> runs;
  auto take_plain = [&](std::int64_t end) {
    if (at == end) return;
    runs.push_back(carried_terms(rows.data() + (at - from), rows.dtype(), (end - at) / element));
    at = end;
  };
  if (const UnroundedSums* sums = behind(rows))
    for (const SumRun& run : sums->runs()) {
      bool is_read = run.element_bytes == element && !run.is_root;
      auto part = is_read ? run.within(from, to) : std::nullopt;
      if (!part) continue;
      take_plain(part->begin);
      runs.push_back(part->sums->slice({part->first, part->count}));
      at = part->end();
    }
  take_plain(to);
  return runs;
}

CarriedSums as_one_term(const CarriedSums& sums) {
  std::vector<double> values(std::size_t(sums.count()));
  sums.round(reinterpret_cast<std::byte*>(values.data()), DType::float64);
  return carried_terms(reinterpret_cast<const std::byte*>(values.data()), DType::float64,
                       sums.count());
}

// Sums over one divisor, of which only the numerators are kept.
struct Numerators {
  std::vector<CarriedSums> sums;
  std::int64_t divisor = 1;
};

// Where the divisors have no common multiple that can be kept, each sum is rounded first.
Numerators over_common_divisor(gsl::span<const CarriedSums> parts) {
  std::int64_t common = 1;
  bool has_common = true;
  for (const CarriedSums& part : parts) {
    std::int64_t more = part.divisor() / std::gcd(common, part.divisor());
    has_common = has_common && more <= common_divisor_max / common;
    if (has_common) common *= more;
  }
  Numerators result{.divisor = has_common ? common : 1};
  for (const CarriedSums& part : parts)
    result.sums.push_back(has_common ? over_one(part, common) : as_one_term(part));
  return result;
}

// Returns the digits that sums of at most `addends` of the parts need.
DigitRange range_of(gsl::span<const CarriedSums> parts, std::int64_t addends) {
  std::optional<DigitRange> range;
  for (const CarriedSums& part : parts) {
    if (part.digit_count() == 0) continue;
    int lowest = 32 * part.low();
    DigitRange own = DigitRange::of_bits(lowest, lowest + 32 * part.digit_count(), addends);
    range = range ? range->joined(own) : own;
  }
  return range.value_or(DigitRange());
}

}  // namespace

Tensor rounded(const Tensor& tensor) {
  if (!is_unrounded(tensor)) return tensor;
  // Rounding is part of the operation that added: no device launches anything for it.
  Tensor result = empty(tensor.shape(), tensor.dtype());
  const Tensor terms[] = {tensor};
  reduce_unrounded({.operands = terms}, result, false);
  return result;
}

bool is_unrounded(const Tensor& tensor) {
  const UnroundedSums* sums = behind(tensor);
  if (!sums) return false;
  std::int64_t span = 1;
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim)
    span += (tensor.size(dim) - 1) * tensor.strides()[std::size_t(dim)];
  auto element = std::int64_t(bytes_per_element(tensor.dtype()));
  std::int64_t from = begin_of(tensor), to = from + span * element;
  return std::any_of(sums->runs().begin(), sums->runs().end(), [&](const SumRun& run) {
    return run.element_bytes == element && run.within(from, to);
  });
}

CarriedSums unrounded(const Tensor& tensor) {
  SIMMESH_CHECK(is_floating_point(tensor.dtype()), "sums behind {}", to_string(tensor.dtype()));
  Unseen nobody;
  Tensor rows = tensor.contiguous();
  std::vector<CarriedSums> runs = runs_of(rows);
  if (runs.size() == 1) return runs.front();
  Numerators numerators = over_common_divisor(runs);
  DigitSums all(rows.numel(), range_of(numerators.sums, 1));
  std::int64_t first = 0;
  for (const CarriedSums& run : numerators.sums) {
    all.add_sums(run, first);
    first += run.count();
  }
  return all.take(numerators.divisor);
}

void share_unrounded(const Tensor& target, const Tensor& source) {
  auto places = [](const Tensor& x) {
    return ElementPlaces{std::size_t(begin_of(x)), x.shape(), x.strides(),
                         bytes_per_element(x.dtype())};
  };
  const UnroundedSums* sums = behind(source);
  if (!sums) return;
  Buffer& buffer = *target.storage()->buffer();
  buffer.set_companion(sums->with_copy(buffer.companion(), places(source), places(target)));
}

void keep_unrounded(Tensor& tensor, CarriedSums sums) {
  SIMMESH_CHECK(tensor.is_contiguous() && tensor.numel() == sums.count(),
                "{} unrounded sums of {} elements", sums.count(), tensor.numel());
  if (sums.count() == 0) return;
  auto element = std::int64_t(bytes_per_element(tensor.dtype()));
  Buffer& buffer = *tensor.storage()->buffer();
  std::int64_t count = sums.count();
  buffer.set_companion(UnroundedSums::joined(
      buffer.companion(),
      {begin_of(tensor), count, element, std::make_shared<const CarriedSums>(std::move(sums)), 0}));
}

void write_unrounded(Tensor& tensor, CarriedSums sums) {
  if (tensor.numel() == 0) return;
  sums.round(tensor.mutable_data(), tensor.dtype());
  keep_unrounded(tensor, std::move(sums));
}

CarriedSums sum_of(gsl::span<const CarriedSums> parts) {
  SIMMESH_CHECK(!parts.empty(), "a sum of no parts");
  Numerators terms = over_common_divisor(parts);
  DigitSums total(parts[0].count(), range_of(terms.sums, std::int64_t(parts.size())));
  for (const CarriedSums& term : terms.sums) total.add_sums(term);
  return total.take(terms.divisor);
}

void reduce_unrounded(const UnroundedReduction& reduction, Tensor& result, bool keeps) {
  Unseen nobody;
  std::vector<Tensor> rows;
  for (const Tensor& operand : reduction.operands) rows.push_back(operand.contiguous());
  double factor = visit_dtype(result.dtype(), [&]<class T>(T) -> double {
    if constexpr (std::is_integral_v<T>)
      return 1;
    else
      return widened(rounded_to<T>(reduction.factor));
  });
  Tensor flat = result.view(Dims{result.numel()});
  for (std::int64_t begin = 0; begin < flat.numel(); begin += sums_at_once) {
    std::int64_t count = std::min(sums_at_once, flat.numel() - begin);
    std::vector<CarriedSums> parts;
    for (const Tensor& operand : rows) {
      Tensor all = operand.view(Dims{operand.numel()});
      CarriedSums sums = unrounded(all.narrow({.dim = 0, .start = begin, .length = count}));
      parts.push_back(reduction.op == ReduceOp::premul_sum ? scaled(sums, factor)
                                                           : std::move(sums));
    }
    CarriedSums total = sum_of(parts);
    auto members = double(reduction.operands.size());
    if (reduction.op == ReduceOp::avg)
      total = can_be_divided(total, members) ? divided(total, members)
                                             : divided(as_one_term(total), members);
    Tensor part = flat.narrow({.dim = 0, .start = begin, .length = count});
    if (keeps)
      write_unrounded(part, std::move(total));
    else
      total.round(part.mutable_data(), part.dtype());
  }
}

}  // namespace simmesh
