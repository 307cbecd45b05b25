#pragma once

#include <string>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// text_picture draws a sharding in plain text, the same bytes every time. Tensors of one or two
// dims become a table of index ranges in which each cell names the ranks that hold it; other
// tensors a list with the ranges of each piece. The lines above say what each mesh dim does; those
// below name the ranks that hold nothing.
//
//   tensor [4, 8] on mesh [2, 2]
//   mesh dim 0 (2 ranks): S(1), splits tensor dim 1
//   mesh dim 1 (2 ranks): R, every rank holds a copy
//   +-----+-------+-------+
//   |     |  0:4  |  4:8  |
//   +-----+-------+-------+
//   | 0:4 | (0,*) | (1,*) |
//   +-----+-------+-------+
//
// Raises as picture_grid does.
std::string text_picture(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding);

}  // namespace simmesh
