#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>

namespace simmesh {

// ContractViolation means that simmesh broke one of its own contracts: a defect of the library, not
// of its user. A World that meets one on a rank adds rank, step, seed and schedule hash to the
// report.
class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void contract_broken(const char* file, int line, const char* condition,
                                  fmt::string_view format, fmt::format_args args);

template <class... Args>
[[noreturn]] void contract_violated(const char* file, int line, const char* condition,
                                    fmt::format_string<Args...> format, Args&&... args) {
  contract_broken(file, line, condition, format, fmt::make_format_args(args...));
}
}  // namespace detail

}  // namespace simmesh

// SIMMESH_CHECK states a contract of ours, in every build. It raises ContractViolation where the
// condition does not hold; the message is only formatted then.
#define SIMMESH_CHECK(condition, ...)                                                    \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::simmesh::detail::contract_violated(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (false)
