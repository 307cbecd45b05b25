#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace simmesh {

// ErrorKind names the class of a misuse by the name that PyTorch users know. Recorded refusals are
// compared by it.
enum class ErrorKind {
  runtime_error,
  value_error,
  index_error,
  key_error,
  type_error,
  assertion_error,
  not_implemented_error,
  attribute_error,
  zero_division_error,
};

// to_string returns the Python spelling, for instance "ValueError".
std::string_view to_string(ErrorKind kind);

// Error reports misuse or bad input from the outside world. Its text starts with the place, in
// brackets, and continues with the expected value and the one that was found:
//
//   raise(ErrorKind::value_error, "mesh/unflatten", "sizes {} multiply to {}, expected {}",
//         sizes, product, extent);
//   // [mesh/unflatten] sizes [2, 3] multiply to 6, expected 4
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view where, std::string_view message);

  ErrorKind kind() const { return kind_; }

  // of_text returns the error whose what() is the text: one that another rank or process has told.
  static Error of_text(ErrorKind kind, std::string_view text);

  // message returns the text without the bracketed place.
  std::string_view message() const;

 private:
  ErrorKind kind_;
  std::size_t message_begin_;
};

namespace detail {
[[noreturn]] void raise_formatted(ErrorKind kind, std::string_view where, fmt::string_view format,
                                  fmt::format_args args);
}  // namespace detail

// raise raises an Error with a formatted message.
template <class... Args>
[[noreturn]] void raise(ErrorKind kind, std::string_view where, fmt::format_string<Args...> format,
                        Args&&... args) {
  detail::raise_formatted(kind, where, format, fmt::make_format_args(args...));
}

}  // namespace simmesh
