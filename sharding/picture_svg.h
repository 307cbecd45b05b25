#pragma once

#include <string>

#include "core/tensor/shape.h"
#include "sharding/shard_order.h"

namespace simmesh {

// svg_picture draws a sharding of a tensor with any number of dims as one self-contained SVG
// element, the same bytes every time. The last two dims span a panel of coloured cells, as wide and
// high as they hold indices; there is one panel for each cell of the dims before them. A cell names
// the ranks that hold it, a piece has one colour. Cells of a pending tensor are hatched, those of a
// ragged one have a dashed border. Below stand what each mesh dim does and which ranks hold
// nothing. Throws as picture_grid does.
std::string svg_picture(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding);

}  // namespace simmesh
