#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/engine/run/spread_run.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// Piece is a tensor that one process gives to another. The owner has it; the shape is known to all.
struct Piece {
  int from = 0;
  int to = 0;
  DType dtype = DType::float32;
  Shape shape;
  Tensor tensor;
};

// PieceUse says whether pieces are operands of what is computed at once, or results that stay.
// Operands that come from another process have their bytes in its message.
enum class PieceUse : std::uint8_t { operands, results };

// exchange_pieces returns the tensors that pieces bring to this process, each in the place of its
// piece; the others are undefined. A piece of this process is its own. All processes that send or
// get a piece call it with the same pieces.
std::vector<Tensor> exchange_pieces(SpreadRun& spread, std::string_view name,
                                    const std::vector<Piece>& pieces, PieceUse use);

}  // namespace simmesh
