#pragma once

#include <string>

namespace simmesh {

// CallSite is a place in a program. As a default argument, `CallSite site = CallSite::here()`, it
// is the caller's.
struct CallSite {
  const char* file = "";
  int line = 0;

  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// to_string returns "train.cpp:42": the last component of the path, so that reports don't depend on
// where a tree lies.
std::string to_string(const CallSite& site);

}  // namespace simmesh
