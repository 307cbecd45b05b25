#pragma once

#include <vector>

#include "core/tensor/shape.h"

namespace simmesh {

// DimGroup is a group of neighbouring dims of a view's input that hold, in row-major order, the
// same elements as a group of neighbouring dims of its output: one dim that stays, dims that are
// merged, one that is split, or several that are split anew. Where `to` is empty, nothing is known
// about the dims.
struct DimGroup {
  Dims from;
  Dims to;

  bool stays() const { return from.size() == 1 && to.size() == 1; }
  bool is_cut_anew() const { return from.size() > 1 && to.size() > 1; }
  bool operator==(const DimGroup&) const = default;
};

// ViewMap maps the dims of a view's input to those of its output. Added and dropped dims of size
// one are in no group.
using ViewMap = std::vector<DimGroup>;

// reshaping_map returns the smallest groups of a view that gives a tensor another shape of as many
// elements.
ViewMap reshaping_map(DimSpan from, DimSpan to);

// permuting_map returns the map of a view whose output dim i is the input dim order[i]; an order
// below 0 stands for a new dim. Dims that aren't named are dropped.
ViewMap permuting_map(DimSpan order);

}  // namespace simmesh
