#pragma once

#include <gsl/span>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/typed/spmd_type.h"

namespace simmesh::typed {

// These calls state a type, and check it against the one that a tensor has. All raise a
// TypeRefusal where they don't fit.

// assert_type gives a tensor the types that it has none for, and checks the others: a type that is
// stated must be the tensor's, but a varying tensor may be stated to be a shard, or the terms of a
// sum. Axes are checked in order of their names.
TypedTensor assert_type(TypedTensor tensor, const std::map<std::string, TypeOnAxis>& stated);

// mutate_type replaces the type on an axis, which must be `src`.
TypedTensor mutate_type(TypedTensor tensor, const std::string& axis, const TypeOnAxis& src,
                        const TypeOnAxis& dst);

// reinterpret_no_grad turns R into I or I into R, for a tensor that requires no gradient.
TypedTensor reinterpret_no_grad(TypedTensor tensor, const std::string& axis, const TypeOnAxis& dst);

// check_loss checks the tensor whose backward() is called. Without a gradient of its own the
// implicit 1 is right on axes of type I and P only.
void check_loss(const TypedTensor& loss, bool has_gradient, const TypingContext& context);

// is_raw_collective is true for a call of torch.distributed that is typed: "dist.all_reduce".
bool is_raw_collective(std::string_view op);

// raw_collective types such a call of an input and, but for all_reduce, an output. It returns the
// outputs: all_reduce turns its operand from P to R in place, all_gather has a list of as many as
// there are ranks. No type passes for another one here.
std::vector<TypedTensor> raw_collective(std::string_view op, gsl::span<const TypedTensor> tensors,
                                        const std::string& axis, const TypingContext& context);

}  // namespace simmesh::typed
