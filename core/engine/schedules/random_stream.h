#pragma once

#include <cstdint>

#include "core/check/int128.h"

namespace simmesh {

// RandomStream is a counter-based generator (splitmix64 of seed, stream and position), integers
// only: the same words everywhere. A rank's stream has the rank as its number.
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::uint64_t stream)
      : key_(mix(mix(seed) + stream)) {}

  constexpr std::uint64_t next() { return mix(key_ + position_++); }

  // below returns a uniform integer in 0..bound-1, bound > 0. Its bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return std::uint64_t((static_cast<UInt128>(next()) * bound) >> 64);
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
  std::uint64_t position_ = 0;
};

}  // namespace simmesh
