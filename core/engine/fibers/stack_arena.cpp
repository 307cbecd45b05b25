#include "core/engine/fibers/stack_arena.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/mman.h>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/scarcity.h"

namespace simmesh {

namespace {

// Staggering costs memory, which matters more in a larger world.
constexpr std::size_t staggered_stacks_max = 4096;

// One frame can be larger than the stack, so a guarded gap is wide where address space is plenty.
// In larger worlds neighbours share the page tables' cache lines.
constexpr std::size_t wide_gaps_max = 64;
constexpr std::size_t wide_gap_bytes = std::size_t(64) << 20;
constexpr std::size_t guarded_gap_bytes = std::size_t(1) << 20;
constexpr std::size_t open_gap_bytes = 64 * 1024;

std::size_t gap_bytes(std::size_t stacks, bool guarded) {
  if (!guarded) return open_gap_bytes;
  return stacks <= wide_gaps_max ? wide_gap_bytes : guarded_gap_bytes;
}

// True if the system gives so much address space, of which ulimit -v may leave little.
bool is_free(std::size_t bytes) {
  void* mapping =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return false;
  munmap(mapping, bytes);
  return true;
}

}  // namespace

StackArena::StackArena(const Options& options)
    : stacks_(options.stacks),
      stack_bytes_((options.stack_bytes + page_bytes - 1) / page_bytes * page_bytes),
      guarded_(options.guarded && options.stacks <= guarded_stacks_max),
      gap_bytes_(gap_bytes(stacks_, guarded_)),
      slot_bytes_(0),
      mapped_bytes_(0),
      stagger_mask_(options.stacks <= staggered_stacks_max ? ~std::size_t(0) : 0) {
  SIMMESH_CHECK(stack_bytes_ > 0, "stacks of no bytes");
  for (std::size_t narrower : {guarded_gap_bytes, open_gap_bytes})
    if (guarded_ && !is_free((gap_bytes_ + stack_bytes_ + page_bytes) * stacks_)) {
      gap_bytes_ = narrower;
      guarded_ = narrower > open_gap_bytes;
    }
  if (guarded_) {
    map(PROT_NONE);
    if (open_stacks()) return;
    munmap(begin_, mapped_bytes_);
    guarded_ = false;
    gap_bytes_ = open_gap_bytes;
  }
  map(PROT_READ | PROT_WRITE);
}

void StackArena::map(int protection) {
  slot_bytes_ = gap_bytes_ + stack_bytes_ + (stagger_mask_ ? page_bytes : 0);
  mapped_bytes_ = std::max<std::size_t>(slot_bytes_ * stacks_, page_bytes);
  void* mapping =
      mmap(nullptr, mapped_bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    raise_refused(errno, ErrorKind::runtime_error, "engine/stack",
                  "expected {} stacks of {} bytes (WorldOptions::stack_bytes), but the system "
                  "refused {} bytes of address space",
                  stacks_, stack_bytes_, mapped_bytes_);
  begin_ = static_cast<std::byte*>(mapping);
  madvise(begin_, mapped_bytes_, MADV_NOHUGEPAGE);
}

// False if the process has too many mappings for that.
bool StackArena::open_stacks() {
  for (std::size_t i = 0; i < stacks_; ++i)
    if (mprotect(gap(i) + gap_bytes_, slot_bytes_ - gap_bytes_, PROT_READ | PROT_WRITE) != 0)
      return false;
  return true;
}

StackArena::~StackArena() { munmap(begin_, mapped_bytes_); }

boost::context::stack_context StackArena::stack(std::size_t index) const {
  boost::context::stack_context context;
  context.sp = upper_end(index);
  context.size = stack_bytes_;
  return context;
}

bool StackArena::is_in_gap(const std::byte* address) const {
  if (address < begin_ || address >= begin_ + mapped_bytes_) return false;
  return std::size_t(address - begin_) % slot_bytes_ < gap_bytes_;
}

bool StackArena::gap_was_touched(std::size_t index) {
  if (guarded_) return false;
  std::array<unsigned char, open_gap_bytes / page_bytes> pages{};
  SIMMESH_CHECK(mincore(gap(index), gap_bytes_, pages.data()) == 0, "the gap {} isn't mapped",
                index);
  if (std::none_of(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }))
    return false;
  madvise(gap(index), gap_bytes_, MADV_DONTNEED);
  return true;
}

}  // namespace simmesh
