#pragma once

#include <cstddef>
#include <cstdint>
#include <gsl/span>
#include <memory>

namespace simmesh {

// bits_hash returns the 64-bit xxHash (XXH3) of some bytes.
std::uint64_t bits_hash(gsl::span<const std::byte> bytes);

// BitsHash is bits_hash over bytes that come in pieces: the same value, however they are cut.
class BitsHash {
 public:
  BitsHash();
  ~BitsHash();
  BitsHash(const BitsHash&) = delete;
  BitsHash& operator=(const BitsHash&) = delete;

  void update(gsl::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace simmesh
