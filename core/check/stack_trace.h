#pragma once

#include <array>
#include <cstddef>

namespace simmesh {

// StackTrace is the calls that a thread is in, innermost first, for reports of programs that can't
// go on. All of it may be used by a signal handler, after prepare.
//
//   StackTrace trace = StackTrace::here();
//   trace.print();   // "  deep(int) at recursion.cpp:12", one line a call
class StackTrace {
 public:
  // prepare loads what the functions below need. Without it the first use may allocate.
  static void prepare();

  // here is that of the caller; of_signal that of the code that a signal interrupted, from the
  // handler's third argument.
  static StackTrace here();
  static StackTrace of_signal(const void* context);

  // print writes to standard error, by addr2line where that is installed: names, and lines of code
  // that was compiled with -g. Else it writes addresses. Calls within other shared libraries are
  // left out.
  void print() const;

 private:
  static constexpr std::size_t frames_max = 64;
  std::array<void*, frames_max> frames_{};
  std::size_t size_ = 0;
};

}  // namespace simmesh
