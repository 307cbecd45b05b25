#include <algorithm>
#include <numeric>
#include <optional>

#include <simmesh/core/arithmetic/digit_sums.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/sums_behind.h>
#include <simmesh/core/arithmetic/unrounded.h>
#include <simmesh/core/check/check.h>
#include <simmesh/core/clock/clock.h>
#include <simmesh/core/memory/ledger.h>

namespace simmesh {

namespace {

constexpr std::int64_t common_divisor_max = std::int64_t(1) << 53;
// So many sums are added at a time: they stay in the cache, and have no more digits than they need.
constexpr std::int64_t sums_at_once = 4096;

// What is done in its scope belongs to no rank: neither its memory nor its time.
struct Unseen {
  Ledger::Workspace memory;
  Clock::Quiet time;
};

const SumsBehind* behind(const Tensor& tensor) {
  if (!tensor.has_elements() || tensor.element_count() == 0) return nullptr;
  return SumsBehind::of(tensor.storage()->buffer()->companion());
}

std::int64_t begin_of(const Tensor& tensor) {
  return std::int64_t(tensor.storage()->buffer_offset()) +
         tensor.storage_offset() * std::int64_t(bytes_per_element(tensor.dtype()));
}

// Pieces puts sums of one divisor side by side.
class Pieces {
 public:
  void add(CarriedSums sums) {
    if (sums.count() > 0) pieces_.push_back(std::move(sums));
  }

  CarriedSums joined() const {
    if (pieces_.size() == 1) return pieces_.front();
    std::int64_t count = 0;
    DigitRange range{.low = 0, .count = 0};
    for (const CarriedSums& piece : pieces_) {
      count += piece.count();
      if (piece.digit_count() == 0) continue;
      DigitRange own{piece.low(), piece.digit_count() + 1};
      range = range.count == 0 ? own : range.joined(own);
    }
    DigitSums all(count, {range.low, std::max(range.count, 1)});
    std::int64_t first = 0;
    for (const CarriedSums& piece : pieces_) {
      all.add_sums(piece, first);
      first += piece.count();
    }
    return all.take();
  }

 private:
  std::vector<CarriedSums> pieces_;
};

// The sums behind part of a contiguous tensor, each run of one divisor for itself.
struct Part {
  SumRange range;
  CarriedSums sums;
};
std::vector<Part> parts_of(const Tensor& rows, const SumRange& asked) {
  auto element = std::int64_t(bytes_per_element(rows.dtype()));
  std::int64_t from = begin_of(rows) + asked.begin * element, to = from + asked.count * element;
  std::vector<Part> parts;
  std::int64_t at = from;
  auto take_plain = [&](std::int64_t end) {
    if (at == end) return;
    std::int64_t begin = (at - from) / element, count = (end - at) / element;
    parts.push_back(
        {{begin, count},
         CarriedSums::of(rows.data() + asked.begin * element + (at - from), rows.dtype(), count)});
    at = end;
  };
  if (const SumsBehind* sums = behind(rows))
    for (const SumRun& run : sums->runs()) {
      auto part = run.element_bytes == element ? run.within(from, to) : std::nullopt;
      if (!part) continue;
      take_plain(part->begin);
      parts.push_back({{(part->begin - from) / element, part->count},
                       part->sums->slice({part->first, part->count})});
      at = part->end();
    }
  take_plain(to);
  return parts;
}

CarriedSums as_one_term(const CarriedSums& sums) {
  std::vector<double> values(std::size_t(sums.count()));
  sums.round(reinterpret_cast<std::byte*>(values.data()), DType::float64);
  return CarriedSums::of(reinterpret_cast<const std::byte*>(values.data()), DType::float64,
                         sums.count());
}

}  // namespace

bool is_unrounded(const Tensor& tensor) {
  const SumsBehind* sums = behind(tensor);
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
  std::vector<Part> parts = parts_of(rows, {0, rows.element_count()});
  std::int64_t common = 1;
  bool has_common = true;
  for (const Part& part : parts) {
    std::int64_t least = std::lcm(common, part.sums.divisor());
    has_common = has_common && least <= common_divisor_max;
    if (has_common) common = least;
  }
  if (parts.size() == 1) return parts.front().sums;
  Pieces pieces;
  for (const Part& part : parts) {
    CarriedSums sums = has_common ? part.sums : as_one_term(part.sums);
    pieces.add(sums.over_one(has_common ? common : 1));
  }
  CarriedSums all = pieces.joined();
  return has_common ? all.divided(double(common)) : all;
}

void share_unrounded(const Tensor& target, const Tensor& source) {
  auto places = [](const Tensor& x) {
    return ElementPlaces{std::size_t(begin_of(x)), x.shape(), x.strides(),
                         bytes_per_element(x.dtype())};
  };
  const SumsBehind* sums = behind(source);
  if (!sums) return;
  Buffer& buffer = *target.storage()->buffer();
  buffer.set_companion(sums->with_copy(buffer.companion(), places(source), places(target)));
}

void keep_unrounded(Tensor& tensor, CarriedSums sums) {
  SIMMESH_CHECK(tensor.is_contiguous() && tensor.element_count() == sums.count(),
                "{} sums behind {} elements", sums.count(), tensor.element_count());
  if (sums.count() == 0) return;
  auto element = std::int64_t(bytes_per_element(tensor.dtype()));
  Buffer& buffer = *tensor.storage()->buffer();
  std::int64_t count = sums.count();
  buffer.set_companion(SumsBehind::joined(
      buffer.companion(),
      {begin_of(tensor), count, element, std::make_shared<const CarriedSums>(std::move(sums)), 0}));
}

void write_unrounded(Tensor& tensor, CarriedSums sums) {
  if (tensor.element_count() == 0) return;
  sums.round(tensor.mutable_data(), tensor.dtype());
  keep_unrounded(tensor, std::move(sums));
}

CarriedSums sum_of(gsl::span<const CarriedSums> parts) {
  SIMMESH_CHECK(!parts.empty(), "a sum of no parts");
  std::int64_t common = 1;
  for (const CarriedSums& part : parts) {
    common = std::lcm(common, part.divisor());
    if (common > common_divisor_max) break;
  }
  bool has_common = common <= common_divisor_max;
  std::vector<CarriedSums> terms;
  DigitRange range{.low = 0, .count = 0};
  for (const CarriedSums& part : parts) {
    terms.push_back(has_common ? part.over_one(common) : as_one_term(part));
    const CarriedSums& term = terms.back();
    if (term.digit_count() == 0) continue;
    DigitRange own = DigitRange::of_bits(32 * term.low(), 32 * (term.low() + term.digit_count()),
                                         std::int64_t(parts.size()));
    range = range.count == 0 ? own : range.joined(own);
  }
  DigitSums total(parts[0].count(), {range.low, std::max(range.count, 1)});
  for (const CarriedSums& term : terms) total.add_sums(term);
  return total.take(has_common ? common : 1);
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
  Tensor flat = result.view(Dims{result.element_count()});
  for (std::int64_t begin = 0; begin < flat.element_count(); begin += sums_at_once) {
    std::int64_t count = std::min(sums_at_once, flat.element_count() - begin);
    std::vector<CarriedSums> parts;
    for (const Tensor& operand : rows) {
      Tensor all = operand.view(Dims{operand.element_count()});
      CarriedSums sums = unrounded(all.narrow({.dim = 0, .start = begin, .length = count}));
      parts.push_back(reduction.op == ReduceOp::premul_sum ? sums.scaled(factor) : std::move(sums));
    }
    CarriedSums total = sum_of(parts);
    auto members = double(reduction.operands.size());
    if (reduction.op == ReduceOp::avg)
      total = total.can_be_divided(members) ? total.divided(members)
                                            : as_one_term(total).divided(members);
    Tensor part = flat.narrow({.dim = 0, .start = begin, .length = count});
    if (keeps)
      write_unrounded(part, std::move(total));
    else
      total.round(part.mutable_data(), part.dtype());
  }
}

}  // namespace simmesh
