#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/typed/spmd_type.h"

namespace simmesh::typed {

// Conversion is a call that changes a tensor's type on an axis: a collective, or a conversion
// without communication. Over several axes it works on them as on one.
struct Conversion {
  std::string op;  // all_reduce, all_gather, reduce_scatter, all_to_all, convert, reinterpret,
                   // redistribute, shard, unshard or invariant_to_replicate
  TypeOnAxis src = {}, dst = {};
  std::vector<std::string> axes = {};  // in the order of the mesh
  bool is_expert = false;
  bool is_in_place = false;
};

// is_conversion is true for the name of one of these calls.
bool is_conversion(std::string_view op);

// BackwardCall is a call that the backward pass makes.
struct BackwardCall {
  std::string op;
  TypeOnAxis src, dst;
  friend bool operator==(const BackwardCall& a, const BackwardCall& b) {
    return a.op == b.op && a.src == b.src && a.dst == b.dst;
  }
};

// backward_calls returns the calls by which the gradient of a conversion's result becomes that of
// its operand, in the order in which they run; none where there is nothing to do. Raises a
// TypeRefusal for arguments that don't fit each other.
std::vector<BackwardCall> backward_calls(const Conversion& call);

// Converted is the result of a conversion.
struct Converted {
  TypedTensor tensor;
  bool is_same_tensor = false;              // the call returns its operand
  std::vector<BackwardCall> backward = {};  // in the order in which they run
};

// convert_type types a conversion of a tensor. Of the shape, a varying type stacks or takes apart
// dim 0, and S(d) concatenates or cuts dim d. Raises a TypeRefusal where the call's own arguments
// don't fit each other, and then where the tensor doesn't have the type `src`.
Converted convert_type(const Conversion& call, const TypedTensor& tensor,
                       const TypingContext& context);

// ResolvedConversion is the call that does the work of another one.
struct ResolvedConversion {
  Conversion call;
  bool is_idle = false;  // the two types are alike, so that there is nothing to do
};

// resolved returns the call that does the work of redistribute, shard, unshard and
// invariant_to_replicate, and any other call as it is. Raises a TypeRefusal for arguments that
// don't fit each other.
ResolvedConversion resolved(Conversion call);

}  // namespace simmesh::typed
