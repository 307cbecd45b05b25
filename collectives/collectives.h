#pragma once

#include <string>
#include <vector>

#include "collectives/collective_call.h"
#include "collectives/work.h"

namespace simmesh {

// The collectives, in PyTorch's words. Every member of the group calls the same one; all block
// until the last has come, except where the name ends in _async, which returns a Work. Names that
// end in _ write the result into a tensor that is given. Operands are contiguous or not; results
// are contiguous. A root is an index within the group. Steps and bytes of each are in
// docs/collectives.md.
//
// Errors: a RuntimeError that names both sides where the members' calls don't go together,
// TypeError for a reduction that isn't defined for the dtype, AssertionError where a size doesn't
// divide by the group, IndexError for a root or dim out of range.

// ReduceWith is a reduction and, for premul_sum, the factor that each operand is multiplied by
// first.
struct ReduceWith {
  ReduceWith(ReduceOp reduce_op) : op(reduce_op) {}
  // named takes PyTorch's name, for instance "sum". Raises a RuntimeError for one that it doesn't
  // know.
  static ReduceWith named(std::string_view name);
  static ReduceWith premul_sum(double factor) {
    ReduceWith result(ReduceOp::premul_sum);
    result.factor = factor;
    return result;
  }

  ReduceOp op;
  double factor = 1.0;
};

// barrier blocks until every member has come.
void barrier(const ProcessGroup& group, CallSite site = CallSite::here());

// all_reduce returns the reduction of the members' tensors, one buffer that all share.
Tensor all_reduce(const Tensor& input, ReduceWith reduce, const ProcessGroup& group,
                  CallSite site = CallSite::here());
void all_reduce_(Tensor& tensor, ReduceWith reduce, const ProcessGroup& group,
                 CallSite site = CallSite::here());
Work all_reduce_async(const Tensor& input, ReduceWith reduce, const ProcessGroup& group,
                      CallSite site = CallSite::here());
std::vector<Tensor> all_reduce_coalesced(gsl::span<const Tensor> inputs, ReduceWith reduce,
                                         const ProcessGroup& group,
                                         CallSite site = CallSite::here());

// Along is the dim along which pieces are gathered or cut. Uneven pieces may differ in size there;
// a cut then follows torch.chunk.
struct Along {
  std::int64_t dim = 0;
  bool uneven = false;
};

// all_gather returns the members' pieces concatenated along a dim, one buffer that all share.
Tensor all_gather(const Tensor& piece, Along along, const ProcessGroup& group,
                  CallSite site = CallSite::here());
void all_gather_(Tensor& whole, const Tensor& piece, Along along, const ProcessGroup& group,
                 CallSite site = CallSite::here());
Work all_gather_async(const Tensor& piece, Along along, const ProcessGroup& group,
                      CallSite site = CallSite::here());
// all_gather_list returns every member's tensor, of whatever shape, without copying any.
std::vector<Tensor> all_gather_list(const Tensor& piece, const ProcessGroup& group,
                                    CallSite site = CallSite::here());
std::vector<Tensor> all_gather_coalesced(gsl::span<const Tensor> pieces, const ProcessGroup& group,
                                         CallSite site = CallSite::here());

// reduce_scatter returns this member's piece of the reduction.
Tensor reduce_scatter(const Tensor& input, ReduceWith reduce, Along along,
                      const ProcessGroup& group, CallSite site = CallSite::here());
void reduce_scatter_(Tensor& piece, const Tensor& input, ReduceWith reduce, Along along,
                     const ProcessGroup& group, CallSite site = CallSite::here());
Work reduce_scatter_async(const Tensor& input, ReduceWith reduce, Along along,
                          const ProcessGroup& group, CallSite site = CallSite::here());
std::vector<Tensor> reduce_scatter_coalesced(gsl::span<const Tensor> inputs, ReduceWith reduce,
                                             const ProcessGroup& group,
                                             CallSite site = CallSite::here());

// broadcast returns the root's tensor, without a copy. The other members pass one of the same shape
// and dtype.
Tensor broadcast(const Tensor& tensor, std::int64_t root, const ProcessGroup& group,
                 CallSite site = CallSite::here());
void broadcast_(Tensor& tensor, std::int64_t root, const ProcessGroup& group,
                CallSite site = CallSite::here());
Work broadcast_async(const Tensor& tensor, std::int64_t root, const ProcessGroup& group,
                     CallSite site = CallSite::here());
// broadcast_object returns the root's bytes. The objects of the others are not looked at.
std::string broadcast_object(const std::string& object, std::int64_t root,
                             const ProcessGroup& group, CallSite site = CallSite::here());

// reduce returns the reduction on the root and an undefined tensor elsewhere.
Tensor reduce(const Tensor& input, ReduceWith with, std::int64_t root, const ProcessGroup& group,
              CallSite site = CallSite::here());

// scatter returns the root's tensor number i to member i. The other members pass an empty list.
// Raises a ValueError unless the root's list has one tensor per member.
Tensor scatter(gsl::span<const Tensor> pieces, std::int64_t root, const ProcessGroup& group,
               CallSite site = CallSite::here());
// gather returns every member's tensor on the root and an empty list elsewhere.
std::vector<Tensor> gather(const Tensor& piece, std::int64_t root, const ProcessGroup& group,
                           CallSite site = CallSite::here());

// AllToAll is an exchange of parts: each operand is cut along scatter_dim, part j goes to member j,
// and the parts that arrive are concatenated along gather_dim.
struct AllToAll {
  std::int64_t scatter_dim = 0;
  std::int64_t gather_dim = 0;
  bool uneven = false;
};
Tensor all_to_all(const Tensor& input, AllToAll dims, const ProcessGroup& group,
                  CallSite site = CallSite::here());
// Splits has the numbers of rows of dim 0 that go to each member and come from each. Raises a
// ValueError (release 2.13: RuntimeError) where a sender's number isn't the receiver's.
struct Splits {
  Dims input;
  Dims output;
};
Tensor all_to_all_single(const Tensor& input, const Splits& splits, const ProcessGroup& group,
                         CallSite site = CallSite::here());
// all_to_all_list returns, from each member, the tensor that it had for this one.
std::vector<Tensor> all_to_all_list(gsl::span<const Tensor> pieces, const ProcessGroup& group,
                                    CallSite site = CallSite::here());

}  // namespace simmesh
