#include "core/arithmetic/reductions/reduce_op.h"

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

std::string_view to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::avg: return "avg";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::product: return "product";
    case ReduceOp::band: return "band";
    case ReduceOp::bor: return "bor";
    case ReduceOp::bxor: return "bxor";
    case ReduceOp::premul_sum: return "premul_sum";
  }
  SIMMESH_CHECK(false, "unknown ReduceOp {}", static_cast<int>(op));
}

ReduceOp reduce_op_from_string(std::string_view name) {
  for (ReduceOp op : all_reduce_ops)
    if (to_string(op) == name) return op;
  raise(ErrorKind::value_error, "arithmetic/reduce_op",
        "expected one of sum, avg, min, max, product, band, bor, bxor, premul_sum, got '{}'", name);
}

}  // namespace simmesh
