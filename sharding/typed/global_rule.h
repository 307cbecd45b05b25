#pragma once

#include <cstdint>
#include <gsl/span>
#include <string_view>
#include <vector>

#include "sharding/typed/local_rule.h"

namespace simmesh::typed {

// GlobalCall is an operation under global checking, where cuts are followed: the dims that it names
// and the shape of its result decide what becomes of them.
struct GlobalCall {
  std::string_view op;
  gsl::span<const LocalOperand> operands;
  std::vector<std::int64_t> dims = {};  // the argument dim, or dim0 and dim1
  bool keeps_dim = false;
  std::int64_t result_dims = 0;
};

// require_cuts raises a TypeRefusal for a tensor that is varying on an axis which cuts none of its
// dims: global checking can't say what its pieces make.
void require_cuts(const TypedTensor& tensor);

// infer_global returns the type and the cuts of a result. Without regard to cuts it has the types
// of infer_local; then each axis that cuts an operand is followed, with no movement of data: cut
// dims must line up, a sum over a cut dim is partial.
//
// Raises a TypeRefusal: first of all for a varying operand without a cut, then those of
// infer_local, then where no rule keeps a cut.
TypedTensor infer_global(const GlobalCall& call, const TypingContext& context);

}  // namespace simmesh::typed
