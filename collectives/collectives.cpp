#include "collectives/collectives.h"

#include <cstring>

#include "collectives/object_board.h"
#include "core/check/error.h"
#include "core/engine/run/known.h"
#include "core/engine/run/run.h"
#include "core/engine/run/spread_run.h"
#include "core/engine/world.h"
#include "core/memory/data_mode.h"
#include "core/ops/compute_mode.h"

namespace simmesh {

namespace {

using Inputs = gsl::span<const Tensor>;

Inputs one(const Tensor& tensor) { return {&tensor, 1}; }

// True if the sums are kept unrounded. Collectives follow the world's arithmetic, whatever
// ArithmeticScope there is.
bool keeps_unrounded_sums() {
  return this_rank().world().options().arithmetic.is_exact() && compute_mode().keeps_unrounded;
}

CollectiveCall reduction(CollectiveOp op, Inputs inputs, ReduceWith reduce, const CallSite& site) {
  return {.op = op,
          .reduce = reduce.op,
          .factor = reduce.factor,
          .keeps_unrounded = keeps_unrounded_sums(),
          .inputs = inputs,
          .site = site};
}

CollectiveCall reduce_scatter_call(Inputs inputs, ReduceWith reduce, Along along,
                                   const CallSite& site) {
  CollectiveCall call = reduction(CollectiveOp::reduce_scatter, inputs, reduce, site);
  call.dim = along.dim;
  call.uneven = along.uneven;
  return call;
}

CollectiveCall all_gather_call(Inputs inputs, Along along, const CallSite& site) {
  return {.op = CollectiveOp::all_gather,
          .dim = along.dim,
          .uneven = along.uneven,
          .inputs = inputs,
          .site = site};
}

CollectiveCall rooted(CollectiveOp op, Inputs inputs, std::int64_t root, const CallSite& site) {
  return {.op = op, .root = root, .inputs = inputs, .site = site};
}

}  // namespace

ReduceWith ReduceWith::named(std::string_view name) {
  for (ReduceOp op : all_reduce_ops)
    if (to_string(op) == name) return op;
  raise(ErrorKind::runtime_error, "collectives",
        "Unrecognized reduce_op: {}; expected sum, avg, min, max, product, band, bor, bxor or "
        "premul_sum",
        name);
}

void barrier(const ProcessGroup& group, CallSite site) {
  run_collective_for_none(group, {.op = CollectiveOp::barrier, .site = site});
}

Tensor all_reduce(const Tensor& input, ReduceWith reduce, const ProcessGroup& group,
                  CallSite site) {
  return run_collective_for_one(group,
                                reduction(CollectiveOp::all_reduce, one(input), reduce, site));
}

void all_reduce_(Tensor& tensor, ReduceWith reduce, const ProcessGroup& group, CallSite site) {
  run_collective_into(tensor, group,
                      reduction(CollectiveOp::all_reduce, one(tensor), reduce, site));
}

Work all_reduce_async(const Tensor& input, ReduceWith reduce, const ProcessGroup& group,
                      CallSite site) {
  return start_collective(group, reduction(CollectiveOp::all_reduce, one(input), reduce, site));
}

std::vector<Tensor> all_reduce_coalesced(Inputs inputs, ReduceWith reduce,
                                         const ProcessGroup& group, CallSite site) {
  return run_collective(group, reduction(CollectiveOp::all_reduce, inputs, reduce, site));
}

Tensor all_gather(const Tensor& piece, Along along, const ProcessGroup& group, CallSite site) {
  return run_collective_for_one(group, all_gather_call(one(piece), along, site));
}

void all_gather_(Tensor& whole, const Tensor& piece, Along along, const ProcessGroup& group,
                 CallSite site) {
  run_collective_into(whole, group, all_gather_call(one(piece), along, site));
}

Work all_gather_async(const Tensor& piece, Along along, const ProcessGroup& group, CallSite site) {
  return start_collective(group, all_gather_call(one(piece), along, site));
}

std::vector<Tensor> all_gather_list(const Tensor& piece, const ProcessGroup& group, CallSite site) {
  return run_collective(group,
                        {.op = CollectiveOp::all_gather_list, .inputs = one(piece), .site = site});
}

std::vector<Tensor> all_gather_coalesced(Inputs pieces, const ProcessGroup& group, CallSite site) {
  return run_collective(group, all_gather_call(pieces, {.dim = 0}, site));
}

Tensor reduce_scatter(const Tensor& input, ReduceWith reduce, Along along,
                      const ProcessGroup& group, CallSite site) {
  return run_collective_for_one(group, reduce_scatter_call(one(input), reduce, along, site));
}

void reduce_scatter_(Tensor& piece, const Tensor& input, ReduceWith reduce, Along along,
                     const ProcessGroup& group, CallSite site) {
  run_collective_into(piece, group, reduce_scatter_call(one(input), reduce, along, site));
}

Work reduce_scatter_async(const Tensor& input, ReduceWith reduce, Along along,
                          const ProcessGroup& group, CallSite site) {
  return start_collective(group, reduce_scatter_call(one(input), reduce, along, site));
}

std::vector<Tensor> reduce_scatter_coalesced(Inputs inputs, ReduceWith reduce,
                                             const ProcessGroup& group, CallSite site) {
  return run_collective(group, reduce_scatter_call(inputs, reduce, {.dim = 0}, site));
}

Tensor broadcast(const Tensor& tensor, std::int64_t root, const ProcessGroup& group,
                 CallSite site) {
  return run_collective_for_one(group, rooted(CollectiveOp::broadcast, one(tensor), root, site));
}

void broadcast_(Tensor& tensor, std::int64_t root, const ProcessGroup& group, CallSite site) {
  run_collective_into(tensor, group, rooted(CollectiveOp::broadcast, one(tensor), root, site));
}

Work broadcast_async(const Tensor& tensor, std::int64_t root, const ProcessGroup& group,
                     CallSite site) {
  return start_collective(group, rooted(CollectiveOp::broadcast, one(tensor), root, site));
}

namespace {

// Returns the bytes as a tensor; of shapes only where there is no data.
Tensor bytes_of(const std::string& object) {
  Tensor bytes = empty({std::int64_t(object.size())}, DType::uint8);
  if (!object.empty() && bytes.has_elements())
    std::memcpy(bytes.mutable_data(), object.data(), object.size());
  return bytes;
}

// Sends the object beside a tensor of its bytes, which has no elements where there is no data.
std::string broadcast_beside(const std::string& object, std::int64_t root,
                             const ProcessGroup& group, const CallSite& site) {
  Rank& rank = group.owner();
  rank.run().take_turn(rank);
  std::uint64_t number = rank.run().state<ObjectBoard>().next(group);
  if (group.rank() == root) rank.run().state<ObjectBoard>().put(group, number, object);
  Tensor bytes = bytes_of(object);
  run_collective_for_one(group, rooted(CollectiveOp::broadcast_object, one(bytes), root, site));
  rank.run().take_turn(rank);
  return rank.run().state<ObjectBoard>().get(group, number);
}

}  // namespace

std::string broadcast_object(const std::string& object, std::int64_t root,
                             const ProcessGroup& group, CallSite site) {
  // The root may have made the object from its data.
  if (SpreadRun::of(group.owner().run()))
    return broadcast_beside(
        group.rank() == root ? known_text("broadcast_object", [&] { return object; }) : object,
        root, group, site);
  if (DataMode::shapes_only()) return broadcast_beside(object, root, group, site);
  Tensor bytes = bytes_of(object);
  Tensor result =
      run_collective_for_one(group, rooted(CollectiveOp::broadcast_object, one(bytes), root, site));
  return std::string(reinterpret_cast<const char*>(result.data()), result.bytes());
}

Tensor reduce(const Tensor& input, ReduceWith with, std::int64_t root, const ProcessGroup& group,
              CallSite site) {
  CollectiveCall call = reduction(CollectiveOp::reduce, one(input), with, site);
  call.root = root;
  return run_collective_for_one(group, call);
}

Tensor scatter(Inputs pieces, std::int64_t root, const ProcessGroup& group, CallSite site) {
  return run_collective_for_one(group, rooted(CollectiveOp::scatter, pieces, root, site));
}

std::vector<Tensor> gather(const Tensor& piece, std::int64_t root, const ProcessGroup& group,
                           CallSite site) {
  return run_collective(group, rooted(CollectiveOp::gather, one(piece), root, site));
}

Tensor all_to_all(const Tensor& input, AllToAll dims, const ProcessGroup& group, CallSite site) {
  return run_collective_for_one(group, {.op = CollectiveOp::all_to_all,
                                        .dim = dims.gather_dim,
                                        .scatter_dim = dims.scatter_dim,
                                        .uneven = dims.uneven,
                                        .inputs = one(input),
                                        .site = site});
}

Tensor all_to_all_single(const Tensor& input, const Splits& splits, const ProcessGroup& group,
                         CallSite site) {
  return run_collective_for_one(group, {.op = CollectiveOp::all_to_all,
                                        .uneven = true,
                                        .inputs = one(input),
                                        .input_splits = splits.input,
                                        .output_splits = splits.output,
                                        .site = site});
}

std::vector<Tensor> all_to_all_list(Inputs pieces, const ProcessGroup& group, CallSite site) {
  return run_collective(group,
                        {.op = CollectiveOp::all_to_all_list, .inputs = pieces, .site = site});
}

}  // namespace simmesh
