#include <algorithm>
#include <bit>
#include <cmath>

#include <simmesh/core/arithmetic/carried_sum.h>
#include <simmesh/core/arithmetic/exponents.h>
#include <simmesh/core/arithmetic/grid_sums.h>
#include <simmesh/core/arithmetic/non_finite_terms.h>
#include <simmesh/core/arithmetic/product.h>
#include <simmesh/core/arithmetic/rounding.h>
#include <simmesh/core/arithmetic/wide_rounding.h>
#include <simmesh/core/check/error.h>

namespace simmesh {

namespace {

constexpr const char* carried_sum_place = "arithmetic/carried_sum";
constexpr int limb_bits = 51;
constexpr int first_exponent = -16;
// 1.5 * 2^52 steps of each limb.
constexpr double constants[] = {0x1.8p36, 0x1.8p-15, 0x1.8p-66};
constexpr double term_max = 0x1p35;
constexpr double limb_max = 0x1p62;
// Each puts up to 2^51 into a lower limb, which holds 2^50 already.
constexpr std::int64_t terms_between_carries = 2048;

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

// What a double adds to each of its limbs.
template <int limbs>
void deposit(double term, std::int64_t* first, std::int64_t limb_stride) {
  for (int l = 0; l < limbs; ++l) {
    double held = term + constants[l];
    std::int64_t* limb = first + l * limb_stride;
    *limb = std::int64_t(std::uint64_t(*limb) + bits_of(held) - bits_of(constants[l]));
    term -= held - constants[l];
  }
}

// Reads a contiguous floating tensor as double, count elements from begin on.
void widen(const Tensor& values, std::int64_t begin, gsl::span<double> out) {
  visit_dtype(values.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      raise(ErrorKind::type_error, carried_sum_place, "expected floating values, got {}",
            to_string(values.dtype()));
    else {
      const T* source = values.values<T>().data() + begin;
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = widened(source[i]);
    }
  });
}

double largest_finite(const Tensor& values) {
  double largest = 0;
  std::vector<double> part(1024);
  for (std::int64_t i = 0; i < values.element_count(); i += 1024) {
    gsl::span<double> span(part.data(),
                           std::size_t(std::min<std::int64_t>(1024, values.element_count() - i)));
    widen(values, i, span);
    for (double x : span)
      if (double magnitude = std::fabs(x); magnitude - magnitude == 0)
        largest = std::max(largest, magnitude);
  }
  return largest;
}

double power_of_two(const LineExponents& lines) {
  std::int32_t largest = -2000;
  for (std::int32_t e : lines.exponents) largest = std::max(largest, e);
  return largest == -2000 ? 0 : std::ldexp(1.0, largest);
}

ProductOperand operand_from(const Tensor& matrix) {
  return {matrix.data(), matrix.dtype(), matrix.strides()[0], matrix.strides()[1]};
}

}  // namespace

CarriedSum::CarriedSum(DimSpan shape, DType dtype)
    : shape_(shape.begin(), shape.end()),
      dtype_(dtype),
      limb_count_(dtype == DType::float64 ? 3 : 2),
      elements_(element_count(shape)) {
  if (!is_floating_point(dtype))
    raise(ErrorKind::type_error, carried_sum_place, "expected a floating dtype, got {}",
          to_string(dtype));
  Dims limbs_shape = {limb_count_};
  limbs_shape.insert(limbs_shape.end(), shape.begin(), shape.end());
  limbs_ = zeros(limbs_shape, DType::int64);
}

void CarriedSum::reserve(double magnitude, double terms) {
  if (magnitude >= term_max)
    raise(ErrorKind::runtime_error, carried_sum_place, "expected terms below {}, got a bound of {}",
          term_max, magnitude);
  double bound = first_bound_ + terms * (std::ldexp(magnitude, -first_exponent) + 1);
  if (bound > limb_max)
    raise(ErrorKind::runtime_error, carried_sum_place, "expected a sum below {}, got a bound of {}",
          std::ldexp(limb_max, first_exponent), std::ldexp(bound, first_exponent));
  first_bound_ = bound;
}

void CarriedSum::make_room(std::int64_t terms) {
  if (new_terms_ + terms > terms_between_carries) carry();
  new_terms_ += terms;
}

// The lower limbs come within 2^50; the value stays.
void CarriedSum::carry() {
  new_terms_ = 0;
  std::int64_t* limbs = limbs_.mutable_values<std::int64_t>().data();
  for (std::int64_t l = limb_count_ - 1; l > 0; --l) {
    std::int64_t *lower = limbs + l * elements_, *upper = lower - elements_;
    for (std::int64_t i = 0; i < elements_; ++i) {
      std::int64_t carried = (lower[i] + (std::int64_t(1) << (limb_bits - 1))) >> limb_bits;
      lower[i] -= carried << limb_bits;
      upper[i] += carried;
    }
  }
}

void CarriedSum::note_non_finite(std::int64_t index, std::int64_t count) {
  if (!non_finite_.is_defined()) non_finite_ = zeros(shape_, DType::int64);
  auto& counts = non_finite_.mutable_values<std::int64_t>()[std::size_t(index)];
  counts = NonFiniteTerms::merged(counts, count);
}

// Neighbouring terms go to neighbouring elements.
void CarriedSum::add_widened(gsl::span<const double> terms, std::int64_t index) {
  std::int64_t* limbs = limbs_.mutable_values<std::int64_t>().data() + index;
  bool finite = true;
  for (double x : terms) finite = finite && x - x == 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    double x = terms[i];
    if (!finite && x - x != 0) {
      note_non_finite(index + std::int64_t(i), NonFiniteTerms::of(x));
      continue;
    }
    limb_count_ == 2 ? deposit<2>(x, limbs + i, elements_) : deposit<3>(x, limbs + i, elements_);
  }
}

// All terms go to one element.
void CarriedSum::sum_widened(gsl::span<const double> terms, std::int64_t index) {
  for (std::size_t begin = 0; begin < terms.size(); begin += 1024) {
    auto part = terms.subspan(begin, std::min<std::size_t>(1024, terms.size() - begin));
    make_room(std::int64_t(part.size()));
    for (const double& x : part) add_widened({&x, 1}, index);
  }
}

void CarriedSum::add(const Tensor& values) {
  if (!std::equal(shape_.begin(), shape_.end(), values.shape().begin(), values.shape().end()))
    raise(ErrorKind::value_error, carried_sum_place, "expected values of {}, got {}",
          to_string(shape_), to_string(values.shape()));
  add_sum(values);
}

void CarriedSum::add_sum(const Tensor& values) {
  std::int64_t lead = values.dim() - std::int64_t(shape_.size());
  bool fits = lead >= 0;
  for (std::size_t d = 0; fits && d < shape_.size(); ++d)
    fits = shape_[d] == 1 || shape_[d] == values.size(lead + std::int64_t(d));
  if (!fits)
    raise(ErrorKind::value_error, carried_sum_place, "expected values that broadcast {} up, got {}",
          to_string(shape_), to_string(values.shape()));
  if (values.element_count() == 0) return;
  Tensor rows = values.contiguous();
  if (!limbs_.has_elements()) return;
  reserve(largest_finite(rows), double(rows.element_count()) / double(elements_));
  Dims steps(std::size_t(values.dim()), 0);
  Strides strides = contiguous_strides(shape_);
  for (std::size_t d = 0; d < shape_.size(); ++d)
    steps[std::size_t(lead) + d] = shape_[d] == 1 ? 0 : strides[d];
  std::int64_t width = values.dim() == 0 ? 1 : values.size(values.dim() - 1);
  bool spread = values.dim() > 0 && steps.back() != 0;
  Dims outer(values.shape().begin(), values.shape().end());
  if (!outer.empty()) outer.pop_back();
  Dims index(outer.size(), 0);
  std::vector<double> row(std::size_t(width), 0.0);
  std::int64_t begin = 0;
  do {
    std::int64_t target = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) target += index[d] * steps[d];
    widen(rows, begin, row);
    if (spread) {
      make_room(1);
      add_widened(row, target);
    } else {
      sum_widened(row, target);
    }
    begin += width;
  } while (next_index(index, outer));
  carry();
}

void CarriedSum::add_rows(const Tensor& indices, const Tensor& rows) {
  std::int64_t width = shape_.empty() || shape_[0] == 0 ? 0 : elements_ / shape_[0];
  if (shape_.empty() || indices.element_count() * width != rows.element_count())
    raise(ErrorKind::value_error, carried_sum_place, "expected {} rows of {} for {}, got {}",
          indices.element_count(), width, to_string(shape_), to_string(rows.shape()));
  Tensor targets = indices.contiguous(), source = rows.contiguous();
  if (!limbs_.has_elements()) return;
  reserve(largest_finite(source), double(indices.element_count()));
  std::vector<double> row(std::size_t(width), 0.0);
  std::int64_t begin = 0;
  for (std::int64_t target : targets.values<std::int64_t>()) {
    if (target < 0 || target >= shape_[0])
      raise(ErrorKind::index_error, carried_sum_place, "expected an index below {}, got {}",
            shape_[0], target);
    widen(source, begin, row);
    make_room(1);
    add_widened(row, target * width);
    begin += width;
  }
  carry();
}

void CarriedSum::add_product(const Tensor& a, const Tensor& b, InstructionSet set) {
  bool fits = a.dim() == 2 && b.dim() == 2 && shape_.size() == 2 && a.size(0) == shape_[0] &&
              b.size(1) == shape_[1] && a.size(1) == b.size(0);
  if (!fits)
    raise(ErrorKind::value_error, carried_sum_place,
          "expected a[m, k] b[k, n] for {}, got {} and {}", to_string(shape_), to_string(a.shape()),
          to_string(b.shape()));
  if (!limbs_.has_elements()) return;
  add_product_terms({.rows = a.size(0),
                     .columns = b.size(1),
                     .depth = a.size(1),
                     .a = operand_from(a),
                     .b = operand_from(b)},
                    set);
}

void CarriedSum::add_product_terms(const Product& product, InstructionSet set) {
  if (elements_ == 0 || product.depth == 0) return;
  const Kernels& kernels = kernels_of(set);
  LineExponents rows = line_exponents(product.a, {product.rows, product.depth}, kernels);
  LineExponents columns =
      line_exponents(transposed(product.b), {product.columns, product.depth}, kernels);
  double row_max = power_of_two(rows), column_max = power_of_two(columns);
  double magnitude = row_max == 0 || column_max == 0 ? 0 : row_max * column_max;
  reserve(magnitude, double(product.depth));
  bool pairs = product.a.dtype == DType::float64 || product.b.dtype == DType::float64;
  // Terms below half a step of the first limb leave it as it is.
  bool lower_only = !pairs && limb_count_ == 2 && magnitude <= 0x1p-17;
  GridPlan plan{.kernel = limb_count_ == 3 ? kernels.grid_pair_three
                          : pairs          ? kernels.grid_pair_two
                          : lower_only     ? kernels.grid_one
                                           : kernels.grid_two,
                .limbs = lower_only ? 1 : limb_count_,
                .constants = {constants[lower_only ? 1 : 0], constants[1], constants[2]}};
  plan.a_scales.first.assign(std::size_t(product.rows), 1.0);
  plan.b_scales.first.assign(std::size_t(product.columns), 1.0);
  GridSums sums(product, std::move(plan), kernels);
  for (std::int64_t k = 0; k < product.depth; k += terms_between_carries) {
    std::int64_t depth = std::min(terms_between_carries, product.depth - k);
    make_room(depth);
    std::int64_t* limbs = limbs_.mutable_values<std::int64_t>().data();
    for (std::int64_t j = 0; j < product.columns; j += sums.columns_at_once())
      sums.add({.rows = product.rows,
                .column = j,
                .columns = std::min(sums.columns_at_once(), product.columns - j),
                .depth = depth,
                .depth_begin = k,
                .limbs = limbs + (lower_only ? elements_ : 0) + j,
                .limb_stride = elements_,
                .row_stride = product.columns});
  }
  carry();
  non_finite_elements(product, rows, columns,
                      [&](std::int64_t i, std::int64_t j, std::int64_t count) {
                        note_non_finite(i * product.columns + j, count);
                      });
}

void CarriedSum::add(const CarriedSum& other) {
  if (other.shape_ != shape_ || other.dtype_ != dtype_)
    raise(ErrorKind::value_error, carried_sum_place, "expected a sum of {} {}, got {} {}",
          to_string(dtype_), to_string(shape_), to_string(other.dtype_), to_string(other.shape_));
  if (!limbs_.has_elements()) return;
  if (first_bound_ + other.first_bound_ > limb_max)
    raise(ErrorKind::runtime_error, carried_sum_place, "expected a sum below {}, got a bound of {}",
          std::ldexp(limb_max, first_exponent),
          std::ldexp(first_bound_ + other.first_bound_, first_exponent));
  first_bound_ += other.first_bound_;
  auto theirs = other.limbs_.values<std::int64_t>();
  auto ours = limbs_.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < ours.size(); ++i) ours[i] += theirs[i];
  carry();
  if (!other.non_finite_.is_defined()) return;
  auto counts = other.non_finite_.values<std::int64_t>();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) note_non_finite(std::int64_t(i), counts[i]);
}

void CarriedSum::replace_limbs(const Tensor& limbs, std::int64_t addends) {
  constexpr std::int64_t addends_max = 4096;
  if (limbs.shape() != limbs_.shape() || limbs.dtype() != DType::int64)
    raise(ErrorKind::value_error, carried_sum_place, "expected int64 limbs of {}, got {} of {}",
          to_string(limbs_.shape()), to_string(limbs.dtype()), to_string(limbs.shape()));
  if (addends < 1 || addends > addends_max || first_bound_ * double(addends) > limb_max)
    raise(ErrorKind::runtime_error, carried_sum_place,
          "expected up to {} addends with a sum below {}, got {} with a bound of {}", addends_max,
          std::ldexp(limb_max, first_exponent), addends,
          std::ldexp(first_bound_ * double(addends), first_exponent));
  limbs_ = limbs.contiguous();
  if (!limbs_.has_elements()) return;
  carry();
  first_bound_ = 0;
  auto values = limbs_.values<std::int64_t>();
  for (std::int64_t limb : values.subspan(0, std::size_t(elements_)))
    first_bound_ = std::max(first_bound_, std::fabs(double(limb)));
}

void CarriedSum::replace_non_finite(const Tensor& counts) {
  if (counts.shape() != shape_ || counts.dtype() != DType::int64)
    raise(ErrorKind::value_error, carried_sum_place, "expected int64 counts of {}, got {} of {}",
          to_string(shape_), to_string(counts.dtype()), to_string(counts.shape()));
  non_finite_ = counts.clone();
  if (!non_finite_.has_elements()) return;
  for (auto& count : non_finite_.mutable_values<std::int64_t>())
    count = NonFiniteTerms::once(count);
}

Tensor CarriedSum::divided_value(std::int64_t n) const {
  if (n < 1 || n > (std::int64_t(1) << 53))
    raise(ErrorKind::value_error, carried_sum_place, "expected a divisor of 1 to 2^53, got {}", n);
  Tensor result = empty(shape_, dtype_);
  if (!limbs_.has_elements()) return result;
  const std::int64_t* limbs = limbs_.values<std::int64_t>().data();
  constexpr std::int64_t lowest_mask = (std::int64_t(1) << limb_bits) - 1;
  visit_dtype(dtype_, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>) {
      auto out = result.mutable_values<T>();
      for (std::int64_t i = 0; i < elements_; ++i) {
        std::int64_t second = limbs[elements_ + i];
        std::int64_t lowest = limb_count_ == 3 ? limbs[2 * elements_ + i] : 0;
        Int128 high = Int128(limbs[i]) * (Int128(1) << limb_bits) + second + (lowest >> limb_bits);
        lowest &= lowest_mask;
        WideQuotient sum{.numerator = high, .exponent = first_exponent - limb_bits, .divisor = n};
        if (lowest != 0) {
          constexpr Int128 narrow = Int128(1) << 60;
          bool fits = -narrow < high && high < narrow;
          sum.numerator = fits ? high * (Int128(1) << limb_bits) + lowest : high * 2 + 1;
          sum.exponent -= fits ? limb_bits : 1;
        }
        out[std::size_t(i)] = rounded_to<T>(rounded_quotient(sum, dtype_));
      }
      if (non_finite_.is_defined()) {
        auto counts = non_finite_.values<std::int64_t>();
        for (std::size_t i = 0; i < counts.size(); ++i)
          if (counts[i] != 0) out[i] = rounded_to<T>(NonFiniteTerms::value(counts[i]));
      }
    }
  });
  return result;
}

}  // namespace simmesh
