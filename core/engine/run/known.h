#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace simmesh {

// known_text returns a text that a rank finds out from its data. In a run that is spread over
// processes the owner of the rank calls `find_out` and tells the others, so the program may go on
// by the text; anywhere else it only calls it. An error of `find_out` is raised in all processes.
// All processes call known_text at the same place of the rank, and `find_out` itself calls no
// collective. `name` is for the error if they don't.
std::string known_text(std::string_view name, const std::function<std::string()>& find_out);

// KnownScope marks code that only the owner of a rank runs, and whose values the program doesn't go
// on by: there nothing is told.
class KnownScope {
 public:
  KnownScope() { ++depth_; }
  ~KnownScope() { --depth_; }
  KnownScope(const KnownScope&) = delete;
  KnownScope& operator=(const KnownScope&) = delete;

  static bool is_open() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace simmesh
