#pragma once

#include <cstddef>
#include <memory>

#if !defined(SIMMESH_TSAN)
namespace simmesh::sanitizer {
// start_switch_fiber and the next are the address sanitizer's own functions: present in a program
// that is built with it, null in any other.
[[gnu::weak]] void start_switch_fiber(void** fake_stack, const void* lower_end,
                                      std::size_t bytes) asm("__sanitizer_start_switch_fiber");
// finish_switch_fiber ends what start_switch_fiber began, on the other stack.
[[gnu::weak]] void finish_switch_fiber(
    void* fake_stack, const void** old_lower_end,
    std::size_t* old_bytes) asm("__sanitizer_finish_switch_fiber");
}  // namespace simmesh::sanitizer
#endif

namespace simmesh {

// FiberIdentity is a fiber as the sanitizers know it before control may move to it. The address
// sanitizer is looked for at run time, so a program that is built with it may link a library that
// isn't. Without a sanitizer every call below does nothing.
class FiberIdentity {
 public:
  // is_watched is true if the program has the address sanitizer, under which frames are larger.
  static bool is_watched();
  // of_current_thread describes the stack that this thread is on: the one that it began with, or
  // that of a rank which runs another World.
  static FiberIdentity of_current_thread();
  // of_stack describes a new fiber on the given stack.
  static FiberIdentity of_stack(const std::byte* lower_end, std::size_t bytes);
  // release forgets a fiber that has ended.
  void release();

  // leave_for announces that this fiber passes control to another one, with last_time if it never
  // comes back. The caller's frames up to the switch must not be instrumented.
  void leave_for(FiberIdentity& other, bool last_time);
  // arrive is called first when control came (back) to this fiber.
  void arrive();

  // Within a scope, code that runs on this thread is accounted to the fiber.
  void enter_scope();
  void leave_scope();

 private:
#if defined(SIMMESH_TSAN)
  using Handle = void*;
  Handle thread_fiber_ = nullptr;
  Handle scope_outside_ = nullptr;
#else
  // Stack is the address sanitizer's record of a fiber. Worlds of many ranks pay for a pointer
  // only.
  struct Stack {
    const std::byte* lower_end = nullptr;
    std::size_t bytes = 0;
    bool is_a_ranks = false;  // made by of_stack
    void* fake = nullptr;     // the sanitizer's
  };
  void announce(const FiberIdentity& other, bool last_time);

  std::unique_ptr<Stack> stack_;
#endif
};

// ExceptionState has the exceptions that a fiber is handling. The C++ runtime keeps them for each
// thread, so a fiber that waits inside a catch block would otherwise find another fiber's.
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

#if defined(SIMMESH_TSAN)
inline bool FiberIdentity::is_watched() { return false; }
#else
inline bool FiberIdentity::is_watched() { return sanitizer::start_switch_fiber != nullptr; }
inline void FiberIdentity::leave_for(FiberIdentity& other, bool last_time) {
  if (is_watched()) [[unlikely]]
    announce(other, last_time);
}
inline void FiberIdentity::arrive() {
  if (is_watched()) [[unlikely]]
    sanitizer::finish_switch_fiber(stack_->fake, nullptr, nullptr);
}
inline void FiberIdentity::enter_scope() {}
inline void FiberIdentity::leave_scope() {}
#endif

}  // namespace simmesh
