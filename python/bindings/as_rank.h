#pragma once

#include <utility>

#include "python/bindings/python_run.h"
#include "python/bindings/python_site.h"

namespace simmesh::python {

// as_rank calls f with the place in the Python program, without the interpreter lock: f may block
// the rank of this thread. Raises a RuntimeError for a thread that is no rank's.
template <class F>
auto as_rank(const char* function, F&& f) {
  rank_of_run(function);
  CallSite site = python_site();
  return without_lock([&] { return f(site); });
}

// computed calls f, which may block if the thread is a rank's: ops on distributed tensors
// communicate.
template <class F>
auto computed(F&& f) {
  if (PythonRun::of_this_thread()) return without_lock(std::forward<F>(f));
  nanobind::gil_scoped_release released;
  return f();
}

}  // namespace simmesh::python
