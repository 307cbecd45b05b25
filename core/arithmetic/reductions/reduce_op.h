#pragma once

#include <cstdint>
#include <string_view>

namespace simmesh {

// ReduceOp is the operation that makes one value of the values of several ranks. The names are
// those of torch.distributed.
enum class ReduceOp : std::uint8_t {
  sum,
  avg,
  min,
  max,
  product,
  band,
  bor,
  bxor,
  premul_sum,  // sum of operands that were multiplied by a factor first
};

inline constexpr ReduceOp all_reduce_ops[] = {
    ReduceOp::sum,  ReduceOp::avg, ReduceOp::min,  ReduceOp::max,       ReduceOp::product,
    ReduceOp::band, ReduceOp::bor, ReduceOp::bxor, ReduceOp::premul_sum};

// to_string returns the enumerator's name, for instance "product".
std::string_view to_string(ReduceOp op);

// reduce_op_from_string is the inverse of to_string. Raises a ValueError that lists the known
// names.
ReduceOp reduce_op_from_string(std::string_view name);

}  // namespace simmesh
