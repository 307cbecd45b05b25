#pragma once

#include <vector>

#include "core/tensor/shape.h"

namespace simmesh {

// DimGroup says that some neighbouring dims of a view's input hold, in row-major order, what some
// neighbouring dims of its output hold: one dim that stays, dims that are merged, one that is cut
// apart, or several that are cut anew. Where `to` is empty, nothing can be said of the dims.
struct DimGroup {
  Dims from;
  Dims to;

  bool stays() const { return from.size() == 1 && to.size() == 1; }
  bool is_cut_anew() const { return from.size() > 1 && to.size() > 1; }
  bool operator==(const DimGroup&) const = default;
};

// ViewMap says where the dims of a view's input are in its output. Dims of size one that come or go
// are in no group.
using ViewMap = std::vector<DimGroup>;

// reshaping_map returns the smallest groups of a view that gives a tensor another shape of as many
// elements.
ViewMap reshaping_map(DimSpan from, DimSpan to);

// permuting_map returns the map of a view whose output dim i is the input dim order[i]; an order
// below 0 stands for a new dim. Dims that aren't named are gone.
ViewMap permuting_map(DimSpan order);

}  // namespace simmesh
