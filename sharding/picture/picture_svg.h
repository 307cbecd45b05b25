#pragma once

#include <gsl/span>
#include <string>

#include "core/tensor/shape.h"
#include "sharding/placement/shard_order.h"

namespace simmesh {

// PictureStage is a sharding in a row of several, under a title: the result of a step.
struct PictureStage {
  std::string title;
  Sharding sharding;
};

// svg_picture draws a sharding of a tensor with any number of dims as one self-contained SVG
// element, the same bytes every time. The last two dims span a panel of coloured cells, as wide and
// high as they hold indices; there is one panel for each cell of the dims before them. A cell names
// the ranks that hold it, a piece has one colour. Cells of a partial tensor are hatched, those of a
// ragged one have a dashed border. The lines below say what each mesh dim does, and name the ranks
// that hold nothing. Raises as picture_grid does.
std::string svg_picture(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding);
// With several stages, one below the other.
std::string svg_picture(DimSpan global_shape, DimSpan mesh_shape,
                        gsl::span<const PictureStage> stages);

}  // namespace simmesh
