#include "core/arithmetic/reductions/combine.h"

#include "core/check/error.h"

namespace simmesh {

void check_reduction(ReduceOp op, DType dtype) {
  bool bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  bool divides = op == ReduceOp::avg || op == ReduceOp::premul_sum;
  if (bitwise && is_floating_point(dtype))
    raise(ErrorKind::type_error, "arithmetic/reduce",
          "expected an integer dtype or bool for {}, got {}", to_string(op), to_string(dtype));
  if (divides && !is_floating_point(dtype))
    raise(ErrorKind::type_error, "arithmetic/reduce",
          "expected a floating dtype for {}, got {}: the result would be truncated", to_string(op),
          to_string(dtype));
}

Combine combine_of(ReduceOp op, DType dtype, InstructionSet set) {
  check_reduction(op, dtype);
  return kernels_of(set).combine_of(int(op), int(dtype));
}

Fold fold_of(ReduceOp op, DType dtype, InstructionSet set) {
  check_reduction(op, dtype);
  return kernels_of(set).fold_of(int(op), int(dtype));
}

void scale(std::byte* out, const std::byte* values, double factor, DType dtype, std::int64_t count,
           InstructionSet set) {
  visit_dtype(dtype, [&]<class T>(T) {
    T rounded = rounded_to<T>(factor);
    kernels_of(set).scale(int(dtype), out, values, reinterpret_cast<const std::byte*>(&rounded),
                          count);
  });
}

void divide(std::byte* values, double divisor, DType dtype, std::int64_t count,
            InstructionSet set) {
  check_reduction(ReduceOp::avg, dtype);
  kernels_of(set).divide(int(dtype), values, divisor, count);
}

}  // namespace simmesh
