#pragma once

#include <cstdint>

#include <simmesh/core/ops/gradient_call.h>
#include <simmesh/core/ops/places.h>

namespace simmesh {

// CarriedBlocks are gradients of blocks of an input: block i of the source, floating and row-major,
// belongs to block places[i]; a place of -1 is passed over. The blocks are those of the input with
// its dims in an order, where one is given.
struct CarriedBlocks {
  const Places& places;
  std::int64_t block = 1;
  const Tensor& source;
  Dims order = {};
};

// carried_blocks returns the gradient of an input that carries: the sum of the blocks, unrounded.
Gradient carried_blocks(const GradientCall& call, std::size_t input, const CarriedBlocks& blocks);

}  // namespace simmesh
