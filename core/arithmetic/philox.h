#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/tensor.h"

namespace simmesh {

// PhiloxWords is one counter of Philox, or its four random words.
using PhiloxWords = std::array<std::uint32_t, 4>;

// philox4x32_10 returns the four words of a counter under a key: Philox4x32-10 of Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3".
constexpr PhiloxWords philox4x32_10(PhiloxWords counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p = std::uint64_t(0xD2511F53u) * counter[0];
    std::uint64_t q = std::uint64_t(0xCD9E8D57u) * counter[2];
    counter = {std::uint32_t(q >> 32) ^ counter[1] ^ key[0], std::uint32_t(q),
               std::uint32_t(p >> 32) ^ counter[3] ^ key[1], std::uint32_t(p)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// PhiloxKey selects random numbers: a draw depends on the key and the element's global index only,
// not on shard, rank or mesh. Streams of one seed are independent.
struct PhiloxKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

// philox_word returns the 32 random bits of an element: word element % 4 of the counter (element /
// 4, stream) under the key seed.
std::uint32_t philox_word(const PhiloxKey& key, std::uint64_t element);

// philox_uniform returns a multiple of 2^-24 in [0, 1), from the high bits of philox_word.
float philox_uniform(const PhiloxKey& key, std::uint64_t element);

// philox_uniform_double returns a multiple of 2^-53 in [0, 1), from words 2 i and 2 i + 1 of
// element i.
double philox_uniform_double(const PhiloxKey& key, std::uint64_t element);

// philox_normal returns a normal number of mean 0 and variance 1, by Box-Muller from the words of
// its pair of elements.
double philox_normal(const PhiloxKey& key, std::uint64_t element);

// ShardOfTensor is the part of a logical tensor that a local tensor holds: the box that begins at
// offset.
struct ShardOfTensor {
  Shape global_shape;
  Dims offset;
};

// RandomKind is a distribution.
enum class RandomKind : std::uint8_t { uniform, normal };

// RandomFill is mean + scale * normal, or low + (high - low) * uniform, computed in double and
// rounded once to the tensor's dtype.
struct RandomFill {
  RandomKind kind = RandomKind::uniform;
  double low = 0, high = 1;    // of uniform
  double mean = 0, scale = 1;  // of normal
};

// fill_random writes each element of a floating tensor by its row-major index in the logical
// tensor, so shards hold the same values as the whole tensor. Raises a ValueError for a box that
// doesn't fit.
void fill_random(Tensor& tensor, const PhiloxKey& key, const ShardOfTensor& shard,
                 const RandomFill& fill);

// fill_random for a whole tensor.
void fill_random(Tensor& tensor, const PhiloxKey& key, const RandomFill& fill);

}  // namespace simmesh
