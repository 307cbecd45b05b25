#pragma once

#include "collectives/collectives.h"

// The collectives that gradients flow through, in the words of PyTorch's
// torch.distributed._functional_collectives, which its users import as funcol. They return new
// tensors and leave their operands alone; every member of the group calls the same one. The
// backward pass is a collective too, so all members have to run it, in one order.
//
//   Tensor total = funcol::all_reduce(x, ReduceOp::sum, group);
//   backward(sum(mul(total, weight)));   // the members' gradients of `total` are added up
//
// They raise the errors of collectives.h. A reduction without a gradient is refused when the
// backward pass comes to it: a RuntimeError.
namespace simmesh::funcol {

// all_reduce returns the reduction of the members' tensors. Its gradient is, for
//   sum, avg, premul_sum   the same reduction of the members' gradients: one all_reduce. The factor
//                          of premul_sum is taken to be every member's
//   min, max               the sum of the members' gradients, divided by the number of members that
//                          hold the extremum, on these, and 0 elsewhere: one all_reduce, and one in
//                          float32 for the number. Where the result is NaN, those that are NaN hold
//                          it
// Under release 2.13 only sum has one.
Tensor all_reduce(const Tensor& self, ReduceWith reduce, const ProcessGroup& group,
                  CallSite site = CallSite::here());

// all_gather_tensor returns the members' tensors, which have one shape, concatenated along
// gather_dim, which may count from the end. Its gradient is the sum of the members' gradients, of
// which each gets its own part: one reduce_scatter.
Tensor all_gather_tensor(const Tensor& self, std::int64_t gather_dim, const ProcessGroup& group,
                         CallSite site = CallSite::here());

// reduce_scatter_tensor returns this member's part of the reduction, cut along scatter_dim, which
// may count from the end and has to divide by the size of the group. The gradient of a sum is the
// members' gradients, concatenated: one all_gather. Other reductions have none.
Tensor reduce_scatter_tensor(const Tensor& self, ReduceWith reduce, std::int64_t scatter_dim,
                             const ProcessGroup& group, CallSite site = CallSite::here());

// all_to_all_single exchanges rows. Its gradient is the exchange with the two splits swapped.
Tensor all_to_all_single(const Tensor& self, const Splits& splits, const ProcessGroup& group,
                         CallSite site = CallSite::here());

}  // namespace simmesh::funcol
