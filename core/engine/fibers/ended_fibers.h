#pragma once

#include <cstddef>

namespace simmesh {

// EndedFibers is what the thread sanitizer must be told before Boost.Fiber's dispatcher runs: it
// frees fibers that have ended, and unwinds what is left of their frames. The sanitizer would end
// the calls of whoever it takes the thread to be, so it is told of somebody with calls enough.
// Without it all of this does nothing.
class EndedFibers {
 public:
#ifdef SIMMESH_TSAN
  explicit EndedFibers(std::size_t fibers);
  ~EndedFibers();
  // enter is called right before the dispatcher is switched to.
  void enter();
#else
  explicit EndedFibers(std::size_t) {}
  void enter() {}
#endif
  EndedFibers(const EndedFibers&) = delete;
  EndedFibers& operator=(const EndedFibers&) = delete;

 private:
#ifdef SIMMESH_TSAN
  using Handle = void*;
  Handle history_;
#endif
};

}  // namespace simmesh
