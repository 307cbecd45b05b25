#pragma once

#include <gsl/span>
#include <optional>
#include <string>
#include <string_view>

#include "sharding/typed/spmd_type.h"

namespace simmesh::typed {

// LocalOperand is an operand of an operation that doesn't communicate.
struct LocalOperand {
  TypedTensor tensor = {};
  // A number of Python. It is the same everywhere, and has no shape; with types, it was wrapped in
  // them and counts as an operand that needs no gradient.
  bool is_number = false;
};

// infer_local returns the types of all results of an operation, from each axis on its own: types
// join where the ranks' results then hold what the type says, whatever the operands' values are.
//
//   infer_local("matmul", {V, R}, context)   // V
//   infer_local("add", {P, R}, context)      // refused: R would be added once per rank
//
// Cuts of shards are not looked at (see global_rule.h). Raises a TypeRefusal for operands that
// don't fit, and for an operation that would change the type of the operand that it writes.
AxisTypes infer_local(std::string_view op, gsl::span<const LocalOperand> operands,
                      const TypingContext& context);

}  // namespace simmesh::typed
