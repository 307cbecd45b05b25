#include "core/engine/fibers/fiber_switch.h"

#include <cxxabi.h>
#include <pthread.h>

#if defined(SIMMESH_TSAN)
#include <sanitizer/tsan_interface.h>
#else
namespace simmesh::sanitizer {
[[gnu::weak]] void unpoison_memory_region(const volatile void* begin,
                                          std::size_t bytes) asm("__asan_unpoison_memory_region");
}
#endif

namespace simmesh {

ExceptionState& ExceptionState::of_current_thread() {
  return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
}

#if !defined(SIMMESH_TSAN)

namespace {

// CurrentStack is the stack that the thread is on, as the sanitizer was told last; null before its
// first switch.
struct CurrentStack {
  const std::byte* lower_end = nullptr;
  std::size_t bytes = 0;
};
thread_local CurrentStack current_stack;

CurrentStack first_stack_of_thread() {
  CurrentStack stack;
  pthread_attr_t attributes;
  void* lower_end = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &lower_end, &stack.bytes);
    pthread_attr_destroy(&attributes);
  }
  stack.lower_end = static_cast<const std::byte*>(lower_end);
  return stack;
}

}  // namespace

FiberIdentity FiberIdentity::of_current_thread() {
  FiberIdentity identity;
  if (!is_watched()) return identity;
  CurrentStack stack = current_stack.lower_end ? current_stack : first_stack_of_thread();
  identity.stack_ = std::make_unique<Stack>(Stack{stack.lower_end, stack.bytes});
  return identity;
}

FiberIdentity FiberIdentity::of_stack(const std::byte* lower_end, std::size_t bytes) {
  FiberIdentity identity;
  if (is_watched()) identity.stack_ = std::make_unique<Stack>(Stack{lower_end, bytes, true});
  return identity;
}

// A fiber doesn't return from its last frames, and another fiber gets its stack.
void FiberIdentity::release() {
  if (stack_ && sanitizer::unpoison_memory_region)
    sanitizer::unpoison_memory_region(stack_->lower_end, stack_->bytes);
}

// Only a rank's fiber ends. The fiber that drives the ranks comes back, also right after a rank has
// ended.
void FiberIdentity::announce(const FiberIdentity& other, bool last_time) {
  const Stack& to = *other.stack_;
  bool ends = last_time && stack_->is_a_ranks;
  current_stack = {to.lower_end, to.bytes};
  sanitizer::start_switch_fiber(ends ? nullptr : &stack_->fake, to.lower_end, to.bytes);
}

#else

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

// A rank of a folded world that never ran has no TSan fiber.
void FiberIdentity::release() {
  if (thread_fiber_) __tsan_destroy_fiber(thread_fiber_);
}
// The dispatcher may run between the two.
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
