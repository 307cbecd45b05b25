#pragma once

#include <cstdint>

namespace simmesh {

// FoldHash folds 64-bit words, in order, into 64 bits. Equal sequences give equal values on every
// machine.
class FoldHash {
 public:
  constexpr explicit FoldHash(std::uint64_t seed = 0) : state_(seed ^ 0x6A09E667F3BCC908u) {}

  constexpr void fold(std::uint64_t word) {
    std::uint64_t mixed = (state_ ^ word) * 0x9E3779B97F4A7C15u;
    state_ = mixed ^ (mixed >> 32);
  }

  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace simmesh
