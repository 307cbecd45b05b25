#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace simmesh {

// NotEnoughMemory is a std::bad_alloc that says how many bytes were asked for, how many the process
// has and how many it may have: "not enough memory: expected 4096 bytes, but the process uses 900
// MiB of address space, and its limit is 900 MiB (ulimit -v)". Its constructor allocates nothing,
// and notes the text as a Scarcity.
class NotEnoughMemory : public std::bad_alloc {
 public:
  // NotEnoughMemory of 0 bytes doesn't name a number.
  explicit NotEnoughMemory(std::size_t bytes) noexcept;
  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 240> text_{};
};

// allocate_or_raise calls `allocate` until it returns memory, as operator new does: after each
// failure the handler of std::get_new_handler may free some. Raises NotEnoughMemory if there is no
// handler, or if it gives up.
template <class Allocate>
auto allocate_or_raise(std::size_t bytes, Allocate&& allocate) {
  for (;;) {
    if (auto block = allocate()) return block;
    std::new_handler free_some = std::get_new_handler();
    if (free_some == nullptr) throw NotEnoughMemory(bytes);
    try {
      free_some();
    } catch (const std::bad_alloc&) {
      throw NotEnoughMemory(bytes);
    }
  }
}

}  // namespace simmesh
