#include "core/engine/fibers/ended_fibers.h"

#ifdef SIMMESH_TSAN
#include <algorithm>
#include <sanitizer/tsan_interface.h>

extern "C" void __tsan_func_entry(void* address);

namespace simmesh {

// The history has more calls than unwinding ends, and no more than it has room for.
EndedFibers::EndedFibers(std::size_t fibers) : history_(__tsan_create_fiber(0)) {
  constexpr std::size_t frames_of_fiber = 8, room = 48 * 1024;
  void* outside = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(history_, 0);
  for (std::size_t i = std::min(frames_of_fiber * fibers, room); i > 0; --i)
    __tsan_func_entry(__builtin_return_address(0));
  __tsan_switch_to_fiber(outside, 0);
}

EndedFibers::~EndedFibers() { __tsan_destroy_fiber(history_); }
void EndedFibers::enter() { __tsan_switch_to_fiber(history_, 0); }

}  // namespace simmesh
#endif
