#include "sharding/strategies/pending_rows.h"

namespace simmesh {

namespace {

const Placement sum_of = Partial(ReduceOp::sum);
const Placement average_of = Partial(ReduceOp::avg);
const Placement largest_of = Partial(ReduceOp::max);
const Placement least_of = Partial(ReduceOp::min);
const Placement all = Replicate();

}  // namespace

StrategyRows linear_rows() { return {rule({sum_of}, sum_of), rule({average_of}, average_of)}; }

StrategyRows increasing_rows() {
  return {rule({largest_of}, largest_of), rule({least_of}, least_of)};
}

StrategyRows decreasing_rows() {
  return {rule({largest_of}, least_of), rule({least_of}, largest_of)};
}

// An average, a least or a largest value moves by what every rank adds; a sum would move by that
// once a rank. A factor of the second operand may be negative.
StrategyRows additive_rows() {
  return {rule({sum_of, sum_of}, sum_of),      rule({average_of, average_of}, average_of),
          rule({average_of, all}, average_of), rule({largest_of, all}, largest_of),
          rule({least_of, all}, least_of),     rule({all, average_of}, average_of)};
}

StrategyRows product_rows() {
  return {rule({sum_of, all}, sum_of), rule({average_of, all}, average_of),
          rule({all, sum_of}, sum_of), rule({all, average_of}, average_of)};
}

StrategyRows quotient_rows() {
  return {rule({sum_of, all}, sum_of), rule({average_of, all}, average_of)};
}

StrategyRows joined(std::initializer_list<StrategyRows> lists) {
  StrategyRows rows;
  for (const StrategyRows& list : lists) rows.insert(rows.end(), list.begin(), list.end());
  return rows;
}

}  // namespace simmesh
