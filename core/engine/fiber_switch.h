#pragma once

#include <cstddef>

namespace simmesh {

// FiberIdentity is what the sanitizers must be told of a fiber before control may move to it.
// Without a sanitizer it is empty and every call below does nothing.
class FiberIdentity {
 public:
  // of_current_thread describes the stack that this thread began with.
  static FiberIdentity of_current_thread();
  // of_stack describes a new fiber on the given stack.
  static FiberIdentity of_stack(const std::byte* lower_end, std::size_t bytes);
  // release forgets a fiber that has ended.
  void release();

  // leave_for announces that this fiber hands control to another one; last_time where it never
  // comes back. The caller's frames up to the switch must not be instrumented.
  void leave_for(FiberIdentity& other, bool last_time);
  // arrive is called first thing after control came (back) to this fiber.
  void arrive();

  // Within a scope, what runs on this thread is accounted to the fiber.
  void enter_scope();
  void leave_scope();

 private:
#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
  using Handle = void*;
  Handle thread_fiber_ = nullptr;
  Handle scope_outside_ = nullptr;
  Handle fake_stack_ = nullptr;
  const std::byte* lower_end_ = nullptr;
  std::size_t bytes_ = 0;
#endif
};

// ExceptionState says which exceptions a fiber is handling. The C++ runtime keeps that a thread, so
// a fiber that waits inside a catch block would otherwise find another fiber's.
struct ExceptionState {
  // The fields of the runtime's own record, as the Itanium C++ ABI lays out their beginning.
  void* caught = nullptr;
  unsigned int uncaught = 0;

  // of_current_thread returns the thread's own state, which stays where it is.
  static ExceptionState& of_current_thread();
};

// SavedExceptions takes a thread's state and leaves it as if no exception were handled, until it
// ends.
class SavedExceptions {
 public:
  explicit SavedExceptions(ExceptionState& state) : state_(state), saved_(state) { state = {}; }
  ~SavedExceptions() { state_ = saved_; }
  SavedExceptions(const SavedExceptions&) = delete;
  SavedExceptions& operator=(const SavedExceptions&) = delete;

 private:
  ExceptionState& state_;
  ExceptionState saved_;
};

#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)
inline FiberIdentity FiberIdentity::of_current_thread() { return {}; }
inline FiberIdentity FiberIdentity::of_stack(const std::byte*, std::size_t) { return {}; }
inline void FiberIdentity::release() {}
inline void FiberIdentity::leave_for(FiberIdentity&, bool) {}
inline void FiberIdentity::arrive() {}
inline void FiberIdentity::enter_scope() {}
inline void FiberIdentity::leave_scope() {}
#endif

}  // namespace simmesh
