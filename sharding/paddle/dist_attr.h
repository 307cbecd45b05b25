#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/tensor/shape.h"
#include "sharding/placement/placement.h"

namespace simmesh::paddle {

// to_word returns Paddle's word for a reduction: that of the enumerator, but "any" for bor and
// "all" for band, which it has for bools only.
std::string_view to_word(ReduceOp op);
// reduce_op_from_word is the inverse of to_word. Raises a ValueError that shows the word where it
// isn't sum, avg, min, max, product, any or all.
ReduceOp reduce_op_from_word(std::string_view word);

// parse_placement reads "R", "S(0)" and "P(sum)", with Paddle's words for the reduction; to_word is
// its inverse. Raises a ValueError for anything else.
Placement parse_placement(std::string_view text);
std::string to_word(const Placement& placement);

// DistAttr is Paddle's TensorDistAttr: how a tensor is sharded over a mesh, seen from the tensor.
// For each tensor dim it has the mesh dims that cut it, in the order in which they cut (none: not
// cut, several: a co-shard), and for each partial mesh dim how the value is finished. A mesh dim
// comes at most once in all of it.
//
//   paddle::DistAttr attr{.dims_mapping = {{0, 2}, {}}, .partial_status = {{1, ReduceOp::sum}}};
//   paddle::to_string(attr);   // "[[0,2],[]] partial {1: sum}"
struct DistAttr {
  std::vector<Dims> dims_mapping;
  std::map<std::int64_t, ReduceOp> partial_status;

  // replicated returns the layout of a tensor of so many dims that every rank holds whole.
  static DistAttr replicated(std::size_t tensor_dims);

  bool operator==(const DistAttr&) const = default;
};

// to_string returns "[[0,2],[]] partial {1: sum}".
std::string to_string(const DistAttr& attr);

// to_dist_attr returns the layout of a list with one placement a mesh dim: mesh dims that cut one
// tensor dim do so in mesh order. Raises a ValueError for other kinds of shards and for a tensor
// dim that isn't there.
DistAttr to_dist_attr(PlacementSpan placements, std::size_t tensor_dims);

// to_placements is the inverse, but for the order in which mesh dims cut one tensor dim.
Placements to_placements(const DistAttr& attr, std::size_t mesh_dims);

// require_valid raises a ValueError where a mesh dim is outside a mesh of so many dims or used
// twice, and where the number of lists of mesh dims isn't the number of tensor dims. `place` is the
// place in the message.
void require_valid(const DistAttr& attr, std::size_t tensor_dims, std::size_t mesh_dims,
                   std::string_view place);

}  // namespace simmesh::paddle
