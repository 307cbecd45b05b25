#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh {

// MatrixBlock is a part of a parameter whose step is made at once: all of it, or one block.
struct MatrixBlock {
  std::size_t parameter = 0;
  Dims offset;
  Shape shape;

  bool operator==(const MatrixBlock&) const = default;
};

// matrix_blocks cuts a parameter into blocks of at most the given sizes, row by row; a size of 0,
// or no size, doesn't cut. Blocks are cut from the parameter's own indices, so they are the same
// however it is sharded. A parameter without elements is one block. Raises a ValueError for a
// negative size, and where there is neither none nor one size a dim.
std::vector<MatrixBlock> matrix_blocks(std::size_t parameter, DimSpan shape, DimSpan block = {});

// OwnerRule chooses the rank that makes the step of a block: one after another in the order of the
// blocks; or by size, where the block with the most work goes to the rank with the least so far,
// and so on. Of equals the first counts.
enum class OwnerRule : std::uint8_t { round_robin, by_size };

// step_work is the work of a matrix optimiser's step: the products of an n x m matrix take n * m *
// min(n, m). Leading dims count as a batch; other tensors take a unit an element.
double step_work(DimSpan shape);

// block_owners returns the owner of each block, below members. A pure function: all ranks choose
// the same.
std::vector<std::int64_t> block_owners(gsl::span<const MatrixBlock> blocks, OwnerRule rule,
                                       std::int64_t members);

}  // namespace simmesh
