#pragma once

#include <array>
#include <cstddef>

namespace simmesh {

// StackTrace is the call stack of a thread, innermost call first, for reports of programs that
// can't continue. A signal handler may use all of it, after prepare.
//
//   StackTrace trace = StackTrace::here();
//   trace.print();   // "  deep(int) at recursion.cpp:12", one line a call
class StackTrace {
 public:
  // prepare loads what the functions below need. Without it the first use may allocate.
  static void prepare();

  // here returns the stack of its caller; of_signal that of the code which a signal interrupted,
  // from the handler's third argument.
  static StackTrace here();
  static StackTrace of_signal(const void* context);

  // print writes to standard error, by addr2line where that is installed: names, and lines of code
  // that was compiled with -g. Else it writes addresses. Calls within shared libraries are left
  // out; of a deep recursion only the first and the last calls are printed.
  void print() const;

 private:
  static StackTrace above(const void* caller);
  void keep(void* const* frames, std::size_t count);

  static constexpr std::size_t inner_max = 8, outer_max = 16;
  std::array<void*, inner_max + outer_max> frames_{};
  std::size_t inner_ = 0, outer_ = 0;  // the numbers of calls kept, the inner ones first
  std::size_t between_ = 0;            // and of calls left out
};

}  // namespace simmesh
