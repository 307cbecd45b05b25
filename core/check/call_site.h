#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simmesh {

// CallSite is a place in a program. As a default argument, `CallSite site = CallSite::here()`, it
// is the caller's. A layer that calls on behalf of its user passes the user's place on, and may add
// what the call is for: see labelled.
struct CallSite {
  const char* file = "";
  int line = 0;
  std::uint32_t label = 0;  // 0: none

  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line, 0};
  }
};

// file_name returns the last part of a site's path, a view of it. Reports show only this part, so
// that they don't depend on where the sources are. Safe in a signal handler.
std::string_view file_name(const CallSite& site);

// site_in returns a place in a program of another language, such as a Python file. Each file name
// is kept once, until the process ends. Any thread may call it.
CallSite site_in(std::string_view file, int line);

// labelled returns a site whose text also says what the call is for: "fully_shard of layers.0".
// Each text is kept once, until the process ends, so use few. Any thread may call it.
CallSite labelled(const CallSite& site, std::string_view what_for);

// to_string returns "train.cpp:42". A label follows in parentheses.
std::string to_string(const CallSite& site);

}  // namespace simmesh
