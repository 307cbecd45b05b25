#pragma once

#include <map>
#include <string>
#include <vector>

#include "sharding/paddle/spmd/spmd_call.h"

namespace simmesh::paddle {

// ProductOperand is a factor of a product of matrices: a letter for each of its dims, `m` and `k`
// (or `k` and `n`) for the matrix and other letters for the batch, and the mesh dims that cut it.
struct ProductOperand {
  std::string axes;
  Shape shape;
  std::vector<Dims> dims_mapping;
};

// ProductCuts are the mesh dims that cut each axis of a product.
class ProductCuts {
 public:
  // input returns the wanted layout of a factor; dims of size 1 are not cut.
  DistAttr input(const ProductOperand& operand) const;
  // output returns the layout of the product: partial along the mesh dims that cut `k`.
  DistAttr output(const std::string& axes) const;

 private:
  friend ProductCuts merge_product(const SpmdCall&, const ProductOperand&, const ProductOperand&);
  std::map<char, Dims> cuts_;
};

// merge_product merges the layouts of two factors, co-shards included. The batch follows the factor
// whose batch is cut by a co-shard, or into more pieces, or has more dims; mesh dims of the other
// one come after. `k` follows the factor that cuts it by a co-shard or into more pieces, else the
// left one. A mesh dim cuts the batch rather than the matrices, `m` or `n` rather than `k`, and the
// larger one of `m` and `n` (`m` of equals). Last mesh dims are dropped until the pieces of an axis
// are equal, but not for `m` and `n`. Raises a ValueError where the factor that is followed has
// fewer batch dims than the other.
ProductCuts merge_product(const SpmdCall& call, const ProductOperand& x, const ProductOperand& y);

}  // namespace simmesh::paddle
