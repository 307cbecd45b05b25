#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/shape.h"
#include "sharding/paddle/spmd/spmd_call.h"

namespace simmesh::paddle {

// AxisOperand is a tensor in einsum notation: a letter for each of its dims ('1' for one that is
// broadcast), and the mesh dim that cuts it, -1 for none.
struct AxisOperand {
  std::string axes;
  Dims mesh_dims;
};

// AxisMeshDims is the mesh dim that cuts each axis, -1 for none.
class AxisMeshDims {
 public:
  // at returns the mesh dim of an axis; -1 for '1' and for an axis that no operand has.
  std::int64_t at(char axis) const;
  // layout returns the layout of a tensor with these axes.
  Dims layout(std::string_view axes) const;
  // attr returns the same as a DistAttr.
  DistAttr attr(std::string_view axes) const { return attr_of(layout(axes)); }
  // partial_attr also makes the mesh dims of all axes that the tensor lacks partial: they were
  // summed over.
  DistAttr partial_attr(std::string_view axes, ReduceOp op = ReduceOp::sum) const;

 private:
  friend class AxisMerge;
  std::map<char, std::int64_t> mesh_dims_;
};

// merge_axes merges the layouts of the operands: an axis that any operand has cut is cut for all,
// and of several axes that one mesh dim cuts the first keeps it, in the order of operands and dims.
// ('1' takes part in both.) Raises a NotImplementedError where two mesh dims cut one axis, and a
// ValueError where an operand has not one axis a dim.
AxisMeshDims merge_axes(const SpmdCall& call, const std::vector<AxisOperand>& operands);

// merge_axes_strictly does the same, but raises a RuntimeError where one mesh dim cuts two axes.
AxisMeshDims merge_axes_strictly(const SpmdCall& call, const std::vector<AxisOperand>& operands);

// letters returns the first `count` axes of the alphabet. Raises a ValueError above 26.
std::string letters(std::size_t count);

// broadcast_letters returns the axes of a tensor in a broadcast to `dims` dims: the last letters of
// that many, '1' for a size of 1.
std::string broadcast_letters(DimSpan shape, std::size_t dims);

}  // namespace simmesh::paddle
