#include "core/arithmetic/companions/exact_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/arithmetic/companions/exact_arithmetic.h"
#include "core/arithmetic/companions/exact_rounding.h"
#include "core/arithmetic/products/carried_product.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

void check_count(std::int64_t values, std::int64_t elements) {
  if (values != elements)
    raise(ErrorKind::value_error, "companions/values", "expected {} elements, got {}", values,
          elements);
}

// True if values are doubles that have roots in common with others: not negative, and no -0.
bool can_be_roots(const ExactContent& content) {
  return !content.is_root && content.divisor == 1 && content.low.empty() &&
         content.wide_places.empty() &&
         std::none_of(content.high.begin(), content.high.end(),
                      [](double x) { return std::signbit(x); });
}

// Makes all parts roots or none.
std::vector<ExactValues> of_one_kind(gsl::span<const ExactValues> parts) {
  auto is_root = [](const ExactValues& part) { return part.is_root(); };
  if (std::none_of(parts.begin(), parts.end(), is_root)) return {parts.begin(), parts.end()};
  bool are_roots = std::all_of(parts.begin(), parts.end(), [](const ExactValues& part) {
    return part.is_root() || can_be_roots(part.content());
  });
  std::vector<ExactValues> results;
  for (const ExactValues& part : parts)
    results.push_back(are_roots ? part.square() : ExactValues(*Unrooted(part.content())));
  return results;
}

bool has_roots(gsl::span<const ExactValues> parts) {
  bool any = false, all = true;
  for (const ExactValues& part : parts) {
    any = any || part.is_root();
    all = all && (part.is_root() || can_be_roots(part.content()));
  }
  return any && all;
}

}  // namespace

ExactValues::ExactValues(ExactContent content)
    : content_(std::make_shared<const ExactContent>(std::move(content))) {}

ExactValues ExactValues::zeros(std::int64_t count) {
  return of_doubles(std::vector<double>(std::size_t(count), 0));
}

ExactValues ExactValues::of(const ElementArray& elements) {
  return of_doubles(doubles_of(elements));
}

ExactValues ExactValues::of_doubles(std::vector<double> values) {
  auto count = std::int64_t(values.size());
  return ExactValues(ExactContent{.count = count, .high = std::move(values)});
}

ExactValues ExactValues::of_sums(const CarriedSums& sums) {
  ExactContent content{.count = sums.count(), .divisor = sums.divisor()};
  content.fill_with(sums.divisor() == 1 ? sums : sums.over(1));
  return ExactValues(std::move(content));
}

ExactValues ExactValues::of_product(const Product& product) {
  return of_sums(carried_product(product));
}

std::int64_t ExactValues::count() const { return content_->count; }
std::int64_t ExactValues::divisor() const { return content_->divisor; }
bool ExactValues::is_root() const { return content_->is_root; }

std::int64_t ExactValues::nbytes() const {
  auto words =
      std::int64_t(content_->high.size() + content_->low.size() + content_->wide_places.size());
  return 8 * words + 4 * content_->wide.count() * content_->wide.digit_count();
}

ExactValues ExactValues::taken(gsl::span<const std::int64_t> index) const {
  ExactContent result{.count = std::int64_t(index.size()),
                      .divisor = content_->divisor,
                      .is_root = content_->is_root};
  result.high.resize(index.size());
  if (!content_->low.empty()) result.low.resize(index.size());
  std::vector<std::int64_t> wide;
  for (std::size_t k = 0; k < index.size(); ++k) {
    std::int64_t i = index[k];
    if (i < -1 || i >= count())
      raise(ErrorKind::index_error, "companions/values",
            "expected an index below {}, or -1, got {}", count(), i);
    if (i < 0) continue;
    result.high[k] = content_->high[std::size_t(i)];
    if (!result.low.empty()) result.low[k] = content_->low[std::size_t(i)];
    auto found = std::lower_bound(content_->wide_places.begin(), content_->wide_places.end(), i);
    if (found == content_->wide_places.end() || *found != i) continue;
    result.wide_places.push_back(std::int64_t(k));
    wide.push_back(found - content_->wide_places.begin());
  }
  if (!wide.empty()) result.wide = content_->wide.taken(wide);
  result.drop_zero_lows();
  return ExactValues(std::move(result));
}

// Values without a common divisor are rounded where they have one.
ExactValues ExactValues::joined(gsl::span<const ExactValues> parts) {
  std::vector<ExactValues> alike = of_one_kind(parts);
  std::optional<std::int64_t> divisor = 1;
  for (const ExactValues& part : alike)
    if (divisor) divisor = common_divisor(*divisor, part.divisor());
  ExactContent result{.divisor = divisor.value_or(1), .is_root = has_roots(parts)};
  std::vector<CarriedSums> wide;
  for (const ExactValues& part : alike) {
    ExactContent other;
    if (part.divisor() != result.divisor)
      other = divisor ? over_divisor(part.content(), *divisor) : rounded_to_doubles(part.content());
    const ExactContent& content = part.divisor() == result.divisor ? part.content() : other;
    for (std::int64_t place : content.wide_places)
      result.wide_places.push_back(result.count + place);
    result.high.insert(result.high.end(), content.high.begin(), content.high.end());
    result.count += content.count;
    if (!content.low.empty()) {
      result.low.resize(result.high.size() - content.low.size(), 0);
      result.low.insert(result.low.end(), content.low.begin(), content.low.end());
    }
    if (!content.wide_places.empty()) wide.push_back(content.wide);
  }
  if (!result.low.empty()) result.low.resize(result.high.size(), 0);
  if (!wide.empty()) result.wide = joined_digits(wide);
  return ExactValues(std::move(result));
}

ExactValues ExactValues::plus(const ExactValues& other, double factor) const {
  return ExactValues(sum(*Unrooted(content()), *Unrooted(other.content()), factor));
}

ExactValues ExactValues::times(const ExactValues& other) const {
  return ExactValues(product(*Unrooted(content()), *Unrooted(other.content())));
}

ExactValues ExactValues::scaled(double factor) const {
  return ExactValues(simmesh::scaled(content(), factor));
}

ExactValues ExactValues::divided(double by) const {
  return ExactValues(simmesh::divided(content(), by));
}

ExactValues ExactValues::summed(const SumDims& dims) const {
  return ExactValues(simmesh::summed(*Unrooted(content()), dims));
}

ExactValues ExactValues::summed_at(gsl::span<const std::int64_t> index, std::int64_t sums) const {
  return ExactValues(simmesh::summed_at(*Unrooted(content()), index, sums));
}

ExactValues ExactValues::root() const {
  ExactContent under = *Unrooted(content());
  under.is_root = true;
  return ExactValues(std::move(under));
}

ExactValues ExactValues::square() const {
  if (!is_root()) return times(*this);
  ExactContent under = content();
  under.is_root = false;
  return ExactValues(std::move(under));
}

std::vector<std::byte> ExactValues::round(DType dtype) const {
  return rounded_elements(content(), dtype);
}

void ExactValues::round_into(const ElementArray& target) const {
  check_count(count(), target.count());
  write_row_major(target, round(target.dtype).data());
}

bool ExactValues::equals(const ElementArray& array) const {
  check_count(count(), array.count());
  std::vector<std::byte> bytes = round(array.dtype);
  return bytes.empty() ||
         std::memcmp(bytes.data(), RowMajorElements(array).data(), bytes.size()) == 0;
}

std::vector<char> ExactValues::are_elements(DType dtype, const std::byte* rounded) const {
  return simmesh::are_elements(content(), dtype, rounded);
}

CarriedSums ExactValues::sums() const {
  Unrooted values(content());
  return values->digits().over(values->divisor);
}

}  // namespace simmesh
