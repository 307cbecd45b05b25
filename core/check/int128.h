#pragma once

#include <bit>
#include <cstdint>

namespace simmesh {

// Integers of 128 bits, an extension that gcc and clang have.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// bit_width returns the least n with x < 2^n.
inline int bit_width(UInt128 x) {
  auto high = static_cast<std::uint64_t>(x >> 64);
  return high ? 64 + int(std::bit_width(high)) : int(std::bit_width(static_cast<std::uint64_t>(x)));
}

}  // namespace simmesh
