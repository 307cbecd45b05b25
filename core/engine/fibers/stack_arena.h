#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>

namespace simmesh {

// StackArena holds the stacks of all ranks of a world in one mapping, with a gap of address space
// below each. Only pages that are touched use memory.
//
// Guarded stacks have a gap that can't be touched: a stack that grows past its end raises SIGSEGV
// there. Each takes two of the mappings that the system allows a process, so in large worlds, and
// where the system refuses them, stacks are not guarded. Writes to their gap harm nobody, and show
// afterwards.
class StackArena {
 public:
  struct Options {
    std::size_t stacks = 0;
    std::size_t stack_bytes = 0;
    bool guarded = true;  // where there are no more than guarded_stacks_max
  };
  static constexpr std::size_t guarded_stacks_max = 4096;

  // Raises a RuntimeError if the system has no address space.
  explicit StackArena(const Options& options);
  ~StackArena();
  StackArena(const StackArena&) = delete;
  StackArena& operator=(const StackArena&) = delete;

  // stack returns the stack of a rank in Boost.Context's words: sp is its upper end.
  boost::context::stack_context stack(std::size_t index) const;
  // lower_end returns the lowest address of a stack, where its gap ends.
  const std::byte* lower_end(std::size_t index) const { return upper_end(index) - stack_bytes_; }
  std::size_t stack_bytes() const { return stack_bytes_; }

  bool is_guarded() const { return guarded_; }
  // is_in_gap is true for an address in the gap below one of the stacks. May be called by a signal
  // handler.
  bool is_in_gap(const std::byte* address) const;

  // gap_was_touched is true if a stack that isn't guarded grew into its gap since the last call.
  // The gap is untouched again then.
  bool gap_was_touched(std::size_t index);

 private:
  static constexpr std::size_t page_bytes = 4096;

  // Stacks that begin at equal offsets within their pages compete for the same cache lines. Small
  // worlds are staggered.
  std::size_t stagger(std::size_t index) const {
    constexpr std::size_t step_bytes = 256;
    return index * step_bytes % page_bytes & stagger_mask_;
  }
  std::byte* upper_end(std::size_t index) const {
    return begin_ + (index + 1) * slot_bytes_ - stagger(index);
  }
  std::byte* gap(std::size_t index) const { return begin_ + index * slot_bytes_; }
  void map(int protection);
  bool open_stacks();

  std::size_t stacks_;
  std::size_t stack_bytes_;
  bool guarded_;
  std::size_t gap_bytes_;
  std::size_t slot_bytes_;  // the gap, the stack, and a page to stagger it in
  std::size_t mapped_bytes_;
  std::size_t stagger_mask_;  // all bits, or none in a large world
  std::byte* begin_ = nullptr;
};

}  // namespace simmesh
