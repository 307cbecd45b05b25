#pragma once

#include <string_view>

#include "core/check/error.h"

namespace simmesh {

// Scarcity keeps in mind that the system refused memory, a thread, a file descriptor or room on a
// disk. The errors that follow may look like faults of the input: a recorded case fails if its file
// can't be opened. So a program asks at its end, and then tells of the refusal in place of a
// verdict.
//
//   if (std::FILE* file = std::fopen("ranks.json", "r"); !file)
//     raise_refused(errno, ErrorKind::value_error, "a/place", "{} can't be opened", "ranks.json");
//   bool is_verdict = Scarcity::reason().empty();
class Scarcity {
 public:
  // is_cause is true for an errno that tells of the machine and not of the input: ENOMEM, EMFILE,
  // ENOSPC and others.
  static bool is_cause(int reason) noexcept;

  // note keeps the first reason until clear, cut to 600 bytes. Any thread may call it, and it
  // allocates nothing.
  static void note(std::string_view reason) noexcept;
  // reason returns what was noted; empty if nothing was.
  static std::string_view reason() noexcept;

  // clear forgets the reason. No other thread may note one meanwhile.
  static void clear() noexcept;
};

namespace detail {
[[noreturn]] void raise_refused_formatted(int reason, ErrorKind kind, std::string_view where,
                                          fmt::string_view format, fmt::format_args args);
}  // namespace detail

// raise_refused raises an Error whose text ends with the system's words for a reason, an errno:
// "... can't be opened: Too many open files". It notes the text if the reason is a Scarcity's. A
// reason of 0 is no reason.
template <class... Args>
[[noreturn]] void raise_refused(int reason, ErrorKind kind, std::string_view where,
                                fmt::format_string<Args...> format, Args&&... args) {
  detail::raise_refused_formatted(reason, kind, where, format, fmt::make_format_args(args...));
}

}  // namespace simmesh
