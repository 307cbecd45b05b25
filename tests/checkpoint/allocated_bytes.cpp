#include "tests/checkpoint/allocated_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace simmesh::checkpoint::testing {

namespace {

thread_local bool is_counting = false;
thread_local std::int64_t held_bytes = 0, most_bytes = 0;

#if defined(SIMMESH_ASAN) || defined(SIMMESH_TSAN)
constexpr bool is_replaced = false;
#else
constexpr bool is_replaced = true;
#endif

}  // namespace

AllocatedBytes::AllocatedBytes() {
  is_counting = true;
  held_bytes = most_bytes = 0;
}
AllocatedBytes::~AllocatedBytes() { is_counting = false; }

std::size_t AllocatedBytes::most() const {
  return is_replaced ? std::size_t(std::max<std::int64_t>(most_bytes, 0)) : 0;
}

// Adds the bytes of a block, or subtracts them.
void count(void* block, int sign) {
  if (!is_counting || block == nullptr) return;
  held_bytes += sign * std::int64_t(malloc_usable_size(block));
  most_bytes = std::max(most_bytes, held_bytes);
}

}  // namespace simmesh::checkpoint::testing

#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)
// All other forms of new and delete call these.
void* operator new(std::size_t bytes) {
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  simmesh::checkpoint::testing::count(block, 1);
  return block;
}

void operator delete(void* block) noexcept {
  simmesh::checkpoint::testing::count(block, -1);
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
#endif
