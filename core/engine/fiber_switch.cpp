#include "core/engine/fiber_switch.h"

#include <cxxabi.h>
#include <pthread.h>

#if defined(SIMMESH_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIMMESH_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace simmesh {

ExceptionState& ExceptionState::of_current_thread() {
  return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

#if defined(SIMMESH_ASAN)

FiberIdentity FiberIdentity::of_current_thread() {
  FiberIdentity identity;
  pthread_attr_t attributes;
  void* lower_end = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &lower_end, &identity.bytes_);
    pthread_attr_destroy(&attributes);
  }
  identity.lower_end_ = static_cast<const std::byte*>(lower_end);
  return identity;
}

FiberIdentity FiberIdentity::of_stack(const std::byte* lower_end, std::size_t bytes) {
  FiberIdentity identity;
  identity.lower_end_ = lower_end;
  identity.bytes_ = bytes;
  return identity;
}

// A fiber doesn't return from its last frames, and others get its stack.
void FiberIdentity::release() { ASAN_UNPOISON_MEMORY_REGION(lower_end_, bytes_); }
void FiberIdentity::leave_for(FiberIdentity& other, bool last_time) {
  __sanitizer_start_switch_fiber(last_time ? nullptr : &fake_stack_, other.lower_end_,
                                 other.bytes_);
}
void FiberIdentity::arrive() { __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr); }
void FiberIdentity::enter_scope() {}
void FiberIdentity::leave_scope() {}

#elif defined(SIMMESH_TSAN)

FiberIdentity FiberIdentity::of_current_thread() {
  FiberIdentity identity;
  identity.thread_fiber_ = __tsan_get_current_fiber();
  return identity;
}

FiberIdentity FiberIdentity::of_stack(const std::byte*, std::size_t) {
  FiberIdentity identity;
  identity.thread_fiber_ = __tsan_create_fiber(0);
  return identity;
}

// Nobody made one for a rank that isn't run.
void FiberIdentity::release() {
  if (thread_fiber_) __tsan_destroy_fiber(thread_fiber_);
}
// The dispatcher may stand between the two.
void FiberIdentity::leave_for(FiberIdentity& other, bool) {
  if (__tsan_get_current_fiber() != other.thread_fiber_)
    __tsan_switch_to_fiber(other.thread_fiber_, 0);
}
void FiberIdentity::arrive() {}
void FiberIdentity::enter_scope() {
  scope_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_fiber_, 0);
}
void FiberIdentity::leave_scope() { __tsan_switch_to_fiber(scope_outside_, 0); }

#endif

}  // namespace simmesh
