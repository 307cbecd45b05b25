#include <simmesh/core/engine/ended_fibers.h>

#ifdef SIMMESH_TSAN
#include <algorithm>
#include <sanitizer/tsan_interface.h>

extern "C" void __tsan_func_entry(void* address);

namespace simmesh {

// The history begins with more calls than unwinding ends, and no more than it has room for.
EndedFibers::EndedFibers(std::size_t fibers)
    : outside_(__tsan_get_current_fiber()), scratch_(__tsan_create_fiber(0)) {
  constexpr std::size_t frames_of_fiber = 8, room = 48 * 1024;
  __tsan_switch_to_fiber(scratch_, 0);
  for (std::size_t i = std::min(frames_of_fiber * fibers, room); i > 0; --i)
    __tsan_func_entry(__builtin_return_address(0));
}

EndedFibers::~EndedFibers() {
  __tsan_switch_to_fiber(outside_, 0);
  __tsan_destroy_fiber(scratch_);
}

}  // namespace simmesh
#endif
