#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"
#include "sharding/placement/shard_rule.h"

namespace simmesh {

// PicturePiece is a part of the tensor that some ranks hold. Their coordinates are written as a
// pattern: a number on a mesh dim that splits the tensor, * on one that copies it, + on one along
// which every rank holds an operand of the reduction.
struct PicturePiece {
  std::string ranks;            // "(0,*)"
  std::vector<IndexRuns> runs;  // by tensor dim, in local order
  bool empty = false;
};

// PictureGrid is a sharding in the form that pictures need: the pieces, and the tensor cut along
// each dim wherever some piece begins or ends. Every cell of that grid then belongs to exactly one
// piece.
struct PictureGrid {
  std::vector<PicturePiece> pieces;  // row-major over the mesh dims that split the tensor
  std::vector<std::vector<IndexRun>> segments;  // by tensor dim, ascending; none in a dim of size 0
  std::vector<std::int32_t> cells;  // row-major over the segments: the number of its piece
};

// picture_grid builds the grid. Raises as compute_local_shape_and_global_offset does, and a
// ValueError where there are more than 4096 pieces, or cells, to draw.
PictureGrid picture_grid(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding);

// range_text returns "0:8", or "0:2+4:6" for several runs; "-" for none.
std::string range_text(gsl::span<const IndexRun> runs);

// legend_lines returns in words what each mesh dim does: "mesh dim 1 (4 ranks): P(sum), every rank
// holds an operand".
std::vector<std::string> legend_lines(DimSpan mesh_shape, const Sharding& sharding);

}  // namespace simmesh
