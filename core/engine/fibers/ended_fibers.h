#pragma once

#include <cstddef>

namespace simmesh {

// EndedFibers prepares the thread sanitizer for Boost.Fiber's dispatcher, which frees fibers that
// have ended and unwinds the rest of their frames. The sanitizer counts those ends of calls for the
// fiber that it takes the thread to be. So the thread becomes, for the sanitizer, a fiber with
// enough calls. Without the sanitizer all of this does nothing.
class EndedFibers {
 public:
#ifdef SIMMESH_TSAN
  explicit EndedFibers(std::size_t fibers);
  ~EndedFibers();
  // enter is called right before the switch to the dispatcher.
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
