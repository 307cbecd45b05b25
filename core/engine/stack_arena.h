#pragma once

#include <array>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simmesh {

// StackArena holds the stacks of all ranks of a world in one mapping. Below each stack lies a red
// zone of address space that costs no memory while it isn't touched, with a canary at its top:
// words that the kernel gave as zeros and that must still be zeros. A stack that grows past its
// size therefore runs into the red zone, harms nobody, and is found at the next switch. Where guard
// pages are on, the red zone's bottom page can't be touched, nor can one below it. The first can be
// opened, so that a stack that reached it goes on until that is reported; the second stays shut.
class StackArena {
 public:
  struct Options {
    std::size_t stacks = 0;
    std::size_t stack_bytes = 0;
    bool guard_pages = false;
  };

  explicit StackArena(const Options& options);
  ~StackArena();
  StackArena(const StackArena&) = delete;
  StackArena& operator=(const StackArena&) = delete;

  // stack returns the stack of a rank in Boost.Context's words: sp is its upper end.
  boost::context::stack_context stack(std::size_t index) const;

  // lower_end returns the lowest address of a stack, where its red zone ends.
  const std::byte* lower_end(std::size_t index) const { return upper_end(index) - stack_bytes_; }

  // Canary is the top of the red zone of one stack.
  class Canary {
   public:
    // overflowed says whether the stack wrote here, or its guard page was opened, since it was
    // asked last.
    bool overflowed() {
      std::uint64_t any = 0;
      for (std::uint64_t word : words_) any |= word;
      if (any == 0) [[likely]]
        return false;
      words_ = {};
      return true;
    }
    // fetch brings what overflowed will read nearer.
    void fetch() const { __builtin_prefetch(this); }

   private:
    friend class StackArena;
    std::array<std::uint64_t, 8> words_;
  };
  Canary& canary(std::size_t index) const {
    return reinterpret_cast<Canary*>(upper_end(index) - stack_bytes_)[-1];
  }

  bool has_guard_pages() const { return !is_open_.empty(); }
  // open_guard_page makes the guard page of a stack usable where the address lies in it; says
  // whether it did. May be called by a signal handler.
  bool open_guard_page(const std::byte* address, std::size_t index) noexcept;
  // close_guard_pages shuts those that were opened.
  void close_guard_pages();

  std::size_t stack_bytes() const { return stack_bytes_; }

 private:
  static constexpr std::size_t page_bytes = 4096;
  static constexpr std::size_t red_zone_bytes = 16 * page_bytes;

  // Stacks that begin at equal offsets within their pages compete for the same cache lines, and so
  // do their canaries. Small worlds are staggered.
  std::size_t stagger(std::size_t index) const {
    constexpr std::size_t step_bytes = 256;
    return index * step_bytes % page_bytes & stagger_mask_;
  }
  std::byte* upper_end(std::size_t index) const {
    return begin_ + (index + 1) * slot_bytes_ - stagger(index);
  }
  std::byte* guard_page(std::size_t index) const {
    return begin_ + index * slot_bytes_ + page_bytes;
  }

  std::size_t stacks_;
  std::size_t stack_bytes_;
  std::size_t slot_bytes_;  // the red zone, the stack, and a page to stagger it in
  std::size_t mapped_bytes_;
  std::size_t stagger_mask_;  // all bits, or none in a large world
  std::byte* begin_;
  std::vector<std::uint8_t> is_open_;  // of each stack, where there are guard pages: the upper one
};

}  // namespace simmesh
