#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/engine/spread/world_spread.h"

namespace simmesh {

// known_text returns a text that a rank finds out from its data. In a run that is spread over
// processes the owner of the rank calls `find_out` and tells the others, so the program may go on
// by the text; anywhere else it only calls it. An error of `find_out` is raised in all processes.
// All processes call known_text at the same place of the rank, and `find_out` itself calls no
// collective. `name` is for the error if they don't.
std::string known_text(std::string_view name, const std::function<std::string()>& find_out);

// tell_error does work whose errors depend on elements. In a spread program that tells errors (see
// WorldSpread::tell_errors) only the owner of the rank does it, and its error is raised in all
// processes, which call tell_error as they call known_text. Anywhere else it only does the work.
template <class Work>
void tell_error(std::string_view name, Work&& work) {
  if (WorldSpread* spread = WorldSpread::active(); !spread || !spread->tells_errors()) [[likely]]
    return work();
  known_text(name, [&work] {
    work();
    return std::string();
  });
}

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
