#include "core/tensor/formula.h"

#include <array>

#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::array<std::string_view, 6> rule_names = {"wide",     "small", "unit",
                                                        "positive", "index", "bool"};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::int64_t integer_of(const Formula& data, std::uint64_t word) {
  switch (data.rule) {
    case Rule::wide:
    case Rule::unit: return std::int64_t(word >> 40) - (std::int64_t(1) << 23);
    case Rule::small: return std::int64_t(word >> 61) - 4;
    case Rule::positive: return std::int64_t(word >> 41) + 1;
    case Rule::index: return std::int64_t(word % data.below);
    case Rule::boolean: return std::int64_t(word >> 63);
  }
  return 0;
}

// The factor is a power of two times scale, so the only rounding is the last one, to the dtype.
double factor_of(const Formula& data) {
  switch (data.rule) {
    case Rule::wide:
    case Rule::positive: return 0x1p-20;
    case Rule::unit: return 0x1p-23;
    default: return 1.0;
  }
}

template <class T>
T value_of(const Formula& data, double factor, std::int64_t k) {
  if constexpr (std::is_same_v<T, bool>)
    return k != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(k);
  else {
    double value = double(k) * factor;
    if (data.rule == Rule::unit) value *= data.scale;
    return rounded_to<T>(value);
  }
}

}  // namespace

std::string_view to_string(Rule rule) { return rule_names[std::size_t(rule)]; }

Rule rule_from_string(std::string_view name) {
  for (std::size_t i = 0; i < rule_names.size(); ++i)
    if (rule_names[i] == name) return Rule(i);
  raise(ErrorKind::value_error, "tensor/formula",
        "expected one of wide, small, unit, positive, index, bool, got '{}'", name);
}

std::uint64_t formula_word(std::uint64_t seed, std::uint64_t i) { return mix(mix(seed) + i); }

Tensor formula(DimSpan shape, const Formula& data) {
  if (data.rule == Rule::index && data.below == 0)
    raise(ErrorKind::value_error, "tensor/formula", "expected below > 0, got 0");
  if (data.rule == Rule::unit && !is_floating_point(data.dtype))
    raise(ErrorKind::value_error, "tensor/formula",
          "expected a floating dtype for rule unit, got {}", to_string(data.dtype));
  Tensor result = empty(shape, data.dtype);
  if (!result.has_elements()) return result;
  std::uint64_t seed = mix(data.seed);
  double factor = factor_of(data);
  visit_dtype(data.dtype, [&]<class T>(T) {
    std::uint64_t i = 0;
    for (T& value : result.mutable_values<T>())
      value = value_of<T>(data, factor, integer_of(data, mix(seed + i++)));
  });
  return result;
}

}  // namespace simmesh
