#pragma once

#include <optional>
#include <string>

#include "sharding/typed/spmd_type.h"
#include "verify/typed/rank_values.h"
#include "verify/typed/typed_case.h"

namespace simmesh {

// counter_example checks by values that the results of a call hold what their types say. Operands
// get values that fit their types, on every rank of the mesh: small whole numbers and quarters, of
// which sums and products are exact, so that equal means equal bits. Only sums of quotients are
// compared within the rounding of their terms.
//
// An axis holds what a type says if the call and the meaning can be exchanged: the call on what the
// operands stand for along the axis gives what the results stand for. R and I must also be equal on
// all ranks. Returns nullopt if all of that is true, else a sentence that names the axis, the rank
// and the two values.
std::optional<std::string> counter_example(const TypedCall& call, const TypedOutcome& outcome,
                                           const typed::TypingContext& context);

// contradiction returns how calls that mean the same as a refused one are accepted, as a sentence:
// the product and the sum of addmm, or the select of an index. Nullopt where they are refused too.
std::optional<std::string> contradiction(const TypedCall& call,
                                         const typed::TypingContext& context);

}  // namespace simmesh
