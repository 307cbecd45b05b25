#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>

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
  const std::variant<bool, std::int64_t, double>& value() const { return value_; }

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

}  // namespace simmesh
