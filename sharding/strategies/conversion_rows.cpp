#include "sharding/strategies/conversion_rows.h"

namespace simmesh {

namespace {

bool commutes(ReduceOp op, DType from, DType to) {
  if (from == to) return true;
  if (to == DType::boolean) return false;
  bool was_floating = is_floating_point(from), is_floating = is_floating_point(to);
  switch (op) {
    case ReduceOp::sum: return from != DType::boolean && (!was_floating || is_floating);
    case ReduceOp::avg: return was_floating && is_floating;
    default: break;
  }
  bool wraps = !was_floating && !is_floating && from != DType::boolean &&
               (bytes_per_element(to) < bytes_per_element(from) || to == DType::uint8);
  return !wraps;
}

}  // namespace

StrategyRows conversion_rows(DType from, DType to, std::size_t inputs) {
  StrategyRows rows;
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min}) {
    if (!commutes(op, from, to)) continue;
    StrategyRow row;
    row.inputs.assign(inputs, Partial(op));
    row.outputs.assign(1, Partial(op));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace simmesh
