#include "sharding/strategies/partial_rows.h"

namespace simmesh {

namespace {

const Placement sum_parts = Partial(ReduceOp::sum);
const Placement average_parts = Partial(ReduceOp::avg);
const Placement max_parts = Partial(ReduceOp::max);
const Placement min_parts = Partial(ReduceOp::min);
const Placement whole = Replicate();

}  // namespace

StrategyRows linear_rows() {
  return {rule({sum_parts}, sum_parts), rule({average_parts}, average_parts)};
}

StrategyRows increasing_rows() {
  return {rule({max_parts}, max_parts), rule({min_parts}, min_parts)};
}

StrategyRows decreasing_rows() {
  return {rule({max_parts}, min_parts), rule({min_parts}, max_parts)};
}

StrategyRows passing_rows() { return joined({linear_rows(), increasing_rows()}); }

// If every rank adds the same number, an average, minimum or maximum moves by it once; a sum would
// move by it once a rank. A factor of the second operand may be negative.
StrategyRows additive_rows() {
  return {rule({sum_parts, sum_parts}, sum_parts),
          rule({average_parts, average_parts}, average_parts),
          rule({average_parts, whole}, average_parts),
          rule({max_parts, whole}, max_parts),
          rule({min_parts, whole}, min_parts),
          rule({whole, average_parts}, average_parts)};
}

StrategyRows product_rows() {
  return {rule({sum_parts, whole}, sum_parts), rule({average_parts, whole}, average_parts),
          rule({whole, sum_parts}, sum_parts), rule({whole, average_parts}, average_parts)};
}

StrategyRows quotient_rows() {
  return {rule({sum_parts, whole}, sum_parts), rule({average_parts, whole}, average_parts)};
}

StrategyRows increasing_pair_rows() {
  return {rule({max_parts, whole}, max_parts), rule({whole, max_parts}, max_parts),
          rule({min_parts, whole}, min_parts), rule({whole, min_parts}, min_parts)};
}

StrategyRows largest_rows() {
  return joined({increasing_pair_rows(), {rule({max_parts, max_parts}, max_parts)}});
}

StrategyRows least_rows() {
  return joined({increasing_pair_rows(), {rule({min_parts, min_parts}, min_parts)}});
}

StrategyRows joined(std::initializer_list<StrategyRows> lists) {
  StrategyRows rows;
  for (const StrategyRows& list : lists) rows.insert(rows.end(), list.begin(), list.end());
  return rows;
}

}  // namespace simmesh
