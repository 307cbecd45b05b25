#pragma once

#include <cstddef>
#include <limits>
#include <memory>

#include "core/engine/stack_arena.h"

namespace simmesh {

// StackGuard lets a rank go on that ran onto the guard page of its own stack, on the thread that
// made the guard, for as long as it lives: the page is opened, and the rank's next operation finds
// the overflow. Any other fault goes to the handler that the process had before, which is also what
// ends a stack that grows past the page. Guards nest, as Worlds do; the innermost acts.
//
//   StackGuard guard(arena);
//   guard.enter(3);   // the thread goes on on stack 3
//
// The handler of a signal belongs to the process, so the first guard installs it, once; it knows
// nothing but the thread's innermost guard. Under a sanitizer no handler is installed.
class StackGuard {
 public:
  explicit StackGuard(StackArena& arena);
  ~StackGuard();
  StackGuard(const StackGuard&) = delete;
  StackGuard& operator=(const StackGuard&) = delete;

  void enter(std::size_t stack) { stack_ = stack; }
  // leave says that the thread is on no stack of the arena.
  void leave() { stack_ = none; }

  // handle opens the guard page where the address lies in it; says whether it did.
  bool handle(const std::byte* address) noexcept { return arena_.open_guard_page(address, stack_); }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  StackArena& arena_;
  std::size_t stack_ = none;
  StackGuard* outer_;
  // The handler's own stack; null where the thread has one already.
  std::unique_ptr<std::byte[]> handler_stack_;
};

}  // namespace simmesh
