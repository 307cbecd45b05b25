#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

#include "core/ops/attributes.h"

namespace simmesh {

// Number is an operand of an op that is a Python scalar instead of a tensor: a bool, an integer or
// a floating number. It takes part in type promotion with its kind only, not with its width.
//
//   add(x, 2);      // of an integer dtype if x is
//   add(x, 2.0);    // floating in any case
class Number {
 public:
  Number(std::same_as<bool> auto value) : value_(value) {}
  Number(std::integral auto value) requires(!std::same_as<decltype(value), bool>)
      : value_(std::int64_t(value)) {}
  Number(std::floating_point auto value) : value_(double(value)) {}

  // of reads a number from the arguments of an op.
  static Number of(const AttributeValue& value);

  bool is_floating() const { return std::holds_alternative<double>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }

  // as converts to another arithmetic type; a floating number is rounded toward zero, and to the
  // nearest limit where the integer can't hold it.
  template <class T>
  T as() const {
    if (const double* value = std::get_if<double>(&value_))
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return saturated<T>(*value);
    return std::visit([](auto value) { return static_cast<T>(value); }, value_);
  }
  AttributeValue attribute() const {
    return std::visit([](auto value) -> AttributeValue { return value; }, value_);
  }

 private:
  template <class T>
  static T saturated(double value) {
    constexpr auto min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
    if (value != value) return 0;
    if (value <= static_cast<double>(min)) return min;
    return value >= static_cast<double>(max) ? max : static_cast<T>(value);
  }

  std::variant<bool, std::int64_t, double> value_;
};

// number_in returns a number among the arguments of an op, or nothing where it is absent.
std::optional<Number> number_in(const Attributes& attributes, std::string_view name);

// number_or returns a number among the arguments of an op, or a default where it is absent.
Number number_or(const Attributes& attributes, std::string_view name, Number otherwise);

}  // namespace simmesh
