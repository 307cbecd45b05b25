#pragma once

#include <functional>

namespace simmesh::python {

// run_interruptible calls work on a thread of its own, without the GIL, and returns when it has
// ended. Meanwhile other Python threads run, and if this is Python's main thread, Ctrl-C ends the
// running Worlds (core/engine/reports/interrupt.h). Raises what work raises, and the
// KeyboardInterrupt, or another exception that a signal's handler raised.
void run_interruptible(const std::function<void()>& work);

// interruptible does the same for a function with a result.
template <class Function>
auto interruptible(Function&& function) {
  decltype(function()) result;
  run_interruptible([&] { result = function(); });
  return result;
}

}  // namespace simmesh::python
