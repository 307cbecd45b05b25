#include "sharding/strategies/pending_rows.h"

namespace simmesh {

namespace {

const Placement pending_sum = Partial(ReduceOp::sum);
const Placement pending_average = Partial(ReduceOp::avg);
const Placement pending_max = Partial(ReduceOp::max);
const Placement pending_min = Partial(ReduceOp::min);
const Placement all = Replicate();

}  // namespace

StrategyRows linear_rows() {
  return {rule({pending_sum}, pending_sum), rule({pending_average}, pending_average)};
}

StrategyRows increasing_rows() {
  return {rule({pending_max}, pending_max), rule({pending_min}, pending_min)};
}

StrategyRows decreasing_rows() {
  return {rule({pending_max}, pending_min), rule({pending_min}, pending_max)};
}

StrategyRows passing_rows() { return joined({linear_rows(), increasing_rows()}); }

// An average, a least or a largest value moves by what every rank adds; a sum would move by that
// once a rank. A factor of the second operand may be negative.
StrategyRows additive_rows() {
  return {rule({pending_sum, pending_sum}, pending_sum),
          rule({pending_average, pending_average}, pending_average),
          rule({pending_average, all}, pending_average),
          rule({pending_max, all}, pending_max),
          rule({pending_min, all}, pending_min),
          rule({all, pending_average}, pending_average)};
}

StrategyRows product_rows() {
  return {rule({pending_sum, all}, pending_sum), rule({pending_average, all}, pending_average),
          rule({all, pending_sum}, pending_sum), rule({all, pending_average}, pending_average)};
}

StrategyRows quotient_rows() {
  return {rule({pending_sum, all}, pending_sum), rule({pending_average, all}, pending_average)};
}

StrategyRows increasing_pair_rows() {
  return {rule({pending_max, all}, pending_max), rule({all, pending_max}, pending_max),
          rule({pending_min, all}, pending_min), rule({all, pending_min}, pending_min)};
}

StrategyRows largest_rows() {
  return joined({increasing_pair_rows(), {rule({pending_max, pending_max}, pending_max)}});
}

StrategyRows least_rows() {
  return joined({increasing_pair_rows(), {rule({pending_min, pending_min}, pending_min)}});
}

StrategyRows joined(std::initializer_list<StrategyRows> lists) {
  StrategyRows rows;
  for (const StrategyRows& list : lists) rows.insert(rows.end(), list.begin(), list.end());
  return rows;
}

}  // namespace simmesh
