#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>

namespace simmesh {

// StackArena holds the stacks of all ranks of a world in one mapping. Below each stack lies a red
// zone of address space that costs no memory while it isn't touched, with a canary at its top:
// words that the kernel gave as zeros and that must still be zeros. A stack that grows past its
// size therefore runs into the red zone, harms nobody, and is found at the next switch. Where guard
// pages are on, the bottom page of each red zone can't be touched at all.
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
  const std::byte* lower_end(std::size_t index) const;

  // overflowed says whether the canary below the stack was written to. The canary is restored.
  bool overflowed(std::size_t index);

  std::size_t stack_bytes() const { return stack_bytes_; }

 private:
  static constexpr std::size_t canary_words = 8;

  std::size_t stacks_;
  std::size_t stack_bytes_;
  std::size_t slot_bytes_;
  std::size_t mapped_bytes_;
  bool staggered_;
  std::byte* begin_;
};

}  // namespace simmesh
