#pragma once

#include <cstdint>
#include <gsl/span>
#include <string>
#include <string_view>

#include "collectives/collective_op.h"
#include "core/arithmetic/reductions/reduce_op.h"
#include "core/check/call_site.h"
#include "core/check/error.h"
#include "core/tensor/tensor.h"
#include "mesh/membership.h"

namespace simmesh {

// CollectiveCall is one rank's side of a collective. All members must agree on everything but sizes
// that the operation lets differ. If the second member to arrive doesn't agree, it raises.
struct CollectiveCall {
  CollectiveOp op = CollectiveOp::barrier;
  ReduceOp reduce = ReduceOp::sum;
  double factor = 1.0;    // of premul_sum
  std::int64_t root = 0;  // index within the group
  std::int64_t dim = 0;
  std::int64_t scatter_dim = 0;
  // uneven lets pieces differ in size along the dims that are gathered, and cuts by the chunk rule.
  bool uneven = false;
  // keeps_unrounded lets the result of a reduction keep its unrounded sums (exact arithmetic only,
  // see core/arithmetic/unrounded.h).
  bool keeps_unrounded = false;
  // The operands: one tensor, or several where the call is coalesced or takes a list.
  gsl::span<const Tensor> inputs;
  // The operands' dtypes in the words of the program around the World, for dtypes that simmesh
  // doesn't have: "int8". They outlive the call.
  const char* host_dtypes = nullptr;
  // Rows that go to and come from each member (all_to_all only); empty for equal parts.
  DimSpan input_splits;
  DimSpan output_splits;
  CallSite site;
};

// to_string returns the call in words: "all_reduce(max) of float32[4, 2] at train.cpp:42".
std::string to_string(const CollectiveCall& call);

// host_dtypes_of returns " (int8)" where the call has such words, and nothing elsewhere.
std::string host_dtypes_of(const CollectiveCall& call);

// Caller is the member that makes a call, the number'th collective of its group.
struct Caller {
  const Membership& group;
  std::size_t member = 0;
  std::uint64_t number = 0;
};

// refuse_call raises an Error that names the rank, its call, the number and the group: "rank 0:
// all_reduce(sum) of float32[2] at train.py:4, #3 of group dp [0, 1]: " and the message.
[[noreturn]] void refuse_call(ErrorKind kind, const CollectiveCall& call, const Caller& caller,
                              std::string_view message);

// check_call raises for a call that can't be right, whatever the other members do: a root or dim
// out of range (IndexError), sizes that don't divide (AssertionError), splits that don't add up,
// an undefined operand or another number of them than the operation takes (ValueError), an
// operation that isn't defined for the dtype (TypeError).
void check_call(const CollectiveCall& call, const Caller& caller);

// disagreement returns in words the difference between two members' calls; empty if they agree.
std::string_view disagreement(const CollectiveCall& first, const CollectiveCall& second);

// disagreement_on_splits returns in words the difference between the rows that one of the members
// sends to another and those that the other expects; empty if there is none. A call without splits
// has equal ones.
struct MemberCall {
  std::size_t member;
  const CollectiveCall& call;
};
std::string disagreement_on_splits(const MemberCall& a, const MemberCall& b, std::size_t members);

}  // namespace simmesh
