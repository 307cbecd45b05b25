#include "sharding/strategies/scatter_rows.h"

#include <algorithm>

#include "core/ops/kernels/places.h"

namespace simmesh {

StrategyRows scatter_rows(const StrategyRequest& call) {
  const Shape& x = call.inputs[0].shape;
  std::int64_t along = indexed_dim(call.attributes, x);
  StrategyRows rows;
  for (std::size_t dim = 0; dim < x.size(); ++dim) {
    bool have_it_whole =
        std::all_of(call.inputs.begin(), call.inputs.end(), [&](const TensorType& type) {
          return type.shape.size() == x.size() && type.shape[dim] == x[dim];
        });
    if (std::int64_t(dim) == along || !have_it_whole) continue;
    Placement shard = Shard(std::int64_t(dim));
    rows.push_back(rule(StrategyRow::Entries(call.inputs.size(), shard), shard));
  }
  return rows;
}

}  // namespace simmesh
