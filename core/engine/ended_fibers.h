#pragma once

#include <cstddef>

namespace simmesh {

// EndedFibers is a scope in which Boost.Fiber frees fibers that have ended: it unwinds what is left
// of their frames on the freeing thread. The thread sanitizer would take these frames for the
// thread's own, so it is given a history of its own there. Without it this does nothing.
class EndedFibers {
 public:
#ifdef SIMMESH_TSAN
  explicit EndedFibers(std::size_t fibers);
  ~EndedFibers();
#else
  explicit EndedFibers(std::size_t) {}
#endif
  EndedFibers(const EndedFibers&) = delete;
  EndedFibers& operator=(const EndedFibers&) = delete;

 private:
#ifdef SIMMESH_TSAN
  using Handle = void*;
  Handle outside_;
  Handle scratch_;
#endif
};

}  // namespace simmesh
