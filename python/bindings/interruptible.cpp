#include "python/bindings/interruptible.h"

#include <chrono>
#include <exception>
#include <future>
#include <nanobind/nanobind.h>

#include "core/engine/reports/interrupt.h"

namespace simmesh::python {

namespace nb = nanobind;

void run_interruptible(const std::function<void()>& work) {
  constexpr auto signals_are_looked_at_every = std::chrono::milliseconds(50);
  bool was_interrupted = false;
  std::future<void> done;
  {
    nb::gil_scoped_release released;
    done = std::async(std::launch::async, work);
    while (done.wait_for(signals_are_looked_at_every) != std::future_status::ready) {
      nb::gil_scoped_acquire held;
      if (was_interrupted || PyErr_CheckSignals() == 0) continue;
      was_interrupted = true;
      Interrupt::request();
    }
  }
  if (!was_interrupted) return done.get();
  // The error indicator is set.
  Interrupt::clear();
  throw nb::python_error();
}

}  // namespace simmesh::python
