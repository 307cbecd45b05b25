#include "core/memory/memory_reserve.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "core/check/append_text.h"
#include "core/check/scarcity.h"
#include "core/memory/not_enough_memory.h"

namespace simmesh {

namespace {

constexpr std::size_t reserve_bytes = std::size_t(8) << 20;

std::atomic<void*> reserve = nullptr;
std::terminate_handler terminate_before = nullptr;
int status_of_shortage = 0;

void* map_reserve() noexcept {
  void* block = mmap(nullptr, reserve_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

[[noreturn]] void end_for_shortage() noexcept {
  std::array<char, 700> line{};
  std::size_t size = write_text(line, "simmesh: {}\n", Scarcity::reason());
  ssize_t ignored = ::write(STDERR_FILENO, line.data(), size);
  static_cast<void>(ignored);
  std::_Exit(status_of_shortage);
}

// A request can be too large although there is memory: then the reserve could be mapped again.
void on_shortage() {
  NotEnoughMemory shortage(0);
  void* block = reserve.exchange(nullptr);
  if (block == nullptr) block = map_reserve();
  if (block == nullptr) end_for_shortage();
  munmap(block, reserve_bytes);
  throw shortage;
}

// Notes a bad_alloc that ends the program. Those of other libraries, such as of fibers that get no
// stack, didn't pass by on_shortage.
void note_current() noexcept {
  if (!std::current_exception()) return;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    NotEnoughMemory noted(0);
  } catch (...) {
    return;
  }
}

void on_terminate() {
  if (Scarcity::reason().empty()) note_current();
  if (!Scarcity::reason().empty()) end_for_shortage();
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

}  // namespace

MemoryReserve::MemoryReserve(int exit_status) noexcept
    : is_outermost_(std::get_new_handler() != on_shortage) {
  if (!is_outermost_) return;
  status_of_shortage = exit_status;
  reserve = map_reserve();
  new_handler_before_ = std::set_new_handler(on_shortage);
  terminate_handler_before_ = terminate_before = std::set_terminate(on_terminate);
}

MemoryReserve::~MemoryReserve() {
  if (!is_outermost_) return;
  std::set_terminate(terminate_handler_before_);
  std::set_new_handler(new_handler_before_);
  if (void* block = reserve.exchange(nullptr)) munmap(block, reserve_bytes);
}

}  // namespace simmesh
