#include "core/engine/stack_arena.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

// In a larger world the memory that staggering costs matters more.
constexpr std::size_t staggered_stacks_max = 4096;

}  // namespace

StackArena::StackArena(const Options& options)
    : stacks_(options.stacks),
      stack_bytes_((options.stack_bytes + page_bytes - 1) / page_bytes * page_bytes),
      stagger_mask_(options.stacks <= staggered_stacks_max ? ~std::size_t(0) : 0) {
  SIMMESH_CHECK(stack_bytes_ > 0, "stacks of no bytes");
  std::size_t below_bytes = red_zone_bytes + (options.guard_pages ? page_bytes : 0);
  slot_bytes_ = below_bytes + stack_bytes_ + (stagger_mask_ ? page_bytes : 0);
  mapped_bytes_ = std::max<std::size_t>(slot_bytes_ * stacks_, page_bytes);
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    raise(ErrorKind::runtime_error, "engine/stack_arena",
          "expected {} stacks of {} bytes, but the system refused {} bytes of address space: {}",
          stacks_, stack_bytes_, mapped_bytes_, std::strerror(errno));
  begin_ = static_cast<std::byte*>(mapping);
  madvise(begin_, mapped_bytes_, MADV_NOHUGEPAGE);
  if (!options.guard_pages) return;
  for (std::size_t i = 0; i < stacks_; ++i)
    if (mprotect(begin_ + i * slot_bytes_, 2 * page_bytes, PROT_NONE) != 0) {
      int error = errno;
      munmap(begin_, mapped_bytes_);
      raise(ErrorKind::runtime_error, "engine/stack_arena",
            "expected a guard page below each of {} stacks, but the system refused number {}: {}",
            stacks_, i, std::strerror(error));
    }
  is_open_.assign(stacks_, false);
}

StackArena::~StackArena() { munmap(begin_, mapped_bytes_); }

boost::context::stack_context StackArena::stack(std::size_t index) const {
  boost::context::stack_context context;
  context.sp = upper_end(index);
  context.size = stack_bytes_;
  return context;
}

bool StackArena::open_guard_page(const std::byte* address, std::size_t index) noexcept {
  if (index >= is_open_.size() || is_open_[index]) return false;
  std::byte* page = guard_page(index);
  if (address < page || address >= page + page_bytes) return false;
  if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  is_open_[index] = true;
  canary(index).words_[0] = 1;
  return true;
}

void StackArena::close_guard_pages() {
  for (std::size_t i = 0; i < is_open_.size(); ++i) {
    if (!is_open_[i]) continue;
    SIMMESH_CHECK(mprotect(guard_page(i), page_bytes, PROT_NONE) == 0, "guard page {} stays open",
                  i);
    is_open_[i] = false;
  }
}

}  // namespace simmesh
