#pragma once

#include "tests/replay/run/hand_job.h"

namespace simmesh::replay::samples {

// AllKinds makes a job with a communication of every kind, in all the forms that traces have, over
// ranks of one group and one type of elements.
class AllKinds {
 public:
  AllKinds(std::int64_t world, std::string type, std::int64_t item_bytes,
           std::optional<bool> is_asynchronous = {})
      : job_(world),
        world_(world),
        type_(std::move(type)),
        item_bytes_(item_bytes),
        is_asynchronous_(is_asynchronous) {
    for (std::int64_t rank = 0; rank < world; ++rank) {
      add_reductions(rank);
      add_gathers(rank);
      add_exchanges(rank);
      add_messages(rank);
    }
  }

  HandJob& job() { return job_; }
  // outputs is how many communications of the job put something out, over all ranks.
  std::size_t outputs() const { return outputs_; }

 private:
  HandTensor tensor(std::int64_t elements) { return {++storage_, elements, type_, item_bytes_}; }
  std::vector<HandTensor> list(std::int64_t count, std::int64_t elements, std::int64_t growth = 0) {
    std::vector<HandTensor> tensors;
    for (std::int64_t i = 0; i < count; ++i) tensors.push_back(tensor(elements + growth * i));
    return tensors;
  }
  std::int64_t piece(std::int64_t from, std::int64_t to) const { return (from + 2 * to) % 3; }

  void add(std::int64_t rank, HandComm comm, bool puts_out = true) {
    comm.request = ++request_;
    comm.is_asynchronous = is_asynchronous_;
    job_.comm(rank, comm);
    outputs_ += puts_out ? 1 : 0;
    if (is_asynchronous_.value_or(false) && request_ % 3 == 0)
      job_.comm(rank, {.name = "wait", .request = request_ - 1, .group = {}});
  }

  void add_in_place(std::int64_t rank, const std::string& name, std::int64_t elements,
                    std::int64_t field, bool puts_out = true) {
    std::vector<HandTensor> tensors = {tensor(elements)};
    add(rank, {.name = name, .inputs = tensors, .outputs = tensors, .rank = field}, puts_out);
  }

  void add_reductions(std::int64_t rank) {
    add_in_place(rank, "allreduce", 5, rank);
    std::vector<HandTensor> several = list(3, 2, 1);
    add(rank, {.name = "allreduce_coalesced", .inputs = several, .outputs = several});
    add_in_place(rank, "broadcast", 4, world_ - 1);
    add_in_place(rank, "reduce", 3, 0, rank == 0);
    add(rank, {.name = "reduce_scatter", .inputs = list(world_, 2), .outputs = list(1, 2)});
    add(rank,
        {.name = "reduce_scatter", .inputs = list(world_, 1, 1), .outputs = list(1, 1 + rank)});
    add(rank,
        {.name = "_reduce_scatter_base", .inputs = list(1, 3 * world_), .outputs = list(1, 3)});
    add(rank, {.name = "reduce_scatter_tensor_coalesced",
               .inputs = {tensor(world_), tensor(2 * world_)},
               .outputs = {tensor(1), tensor(2)}});
  }

  void add_gathers(std::int64_t rank) {
    add(rank, {.name = "all_gather", .inputs = list(1, 3), .outputs = list(world_, 3)});
    std::vector<HandTensor> growing = list(world_, 1, 1);
    add(rank, {.name = "all_gather", .inputs = list(1, 1 + rank), .outputs = growing});
    add(rank, {.name = "_allgather_base", .inputs = list(1, 2), .outputs = list(1, 2 * world_)});
    add(rank, {.name = "allgather_into_tensor_coalesced",
               .inputs = {tensor(1), tensor(2)},
               .outputs = {tensor(world_), tensor(2 * world_)}});
    bool is_root = rank == world_ - 1;
    add(rank,
        {.name = "gather",
         .inputs = list(1, 2),
         .outputs = is_root ? list(world_, 2) : std::vector<HandTensor>(),
         .rank = world_ - 1},
        is_root);
    add(rank, {.name = "scatter",
               .inputs = rank == 0 ? list(world_, 2) : std::vector<HandTensor>(),
               .outputs = list(1, 2),
               .rank = 0});
    add(rank, {.name = "barrier", .rank = rank}, false);
  }

  void add_exchanges(std::int64_t rank) {
    add(rank,
        {.name = "all_to_all", .inputs = list(1, 2 * world_), .outputs = list(1, 2 * world_)});
    std::vector<HandTensor> to, from;
    std::vector<std::int64_t> in_split, out_split;
    std::int64_t in = 0, out = 0;
    for (std::int64_t peer = 0; peer < world_; ++peer) {
      in_split.push_back(piece(rank, peer));
      out_split.push_back(piece(peer, rank));
      to.push_back(tensor(in_split.back()));
      from.push_back(tensor(out_split.back()));
      in += in_split.back();
      out += out_split.back();
    }
    add(rank, {.name = "all_to_all", .inputs = to, .outputs = from});
    add(rank, {.name = "all_to_allv",
               .inputs = list(1, in),
               .outputs = list(1, out),
               .in_split = in_split,
               .out_split = out_split});
    add(rank, {.name = "alltoall_base", .inputs = list(1, world_), .outputs = list(1, world_)});
  }

  // A ring in which every rank sends first, and one in which the two belong together.
  void add_messages(std::int64_t rank) {
    std::int64_t right = (rank + 1) % world_, left = (rank + world_ - 1) % world_;
    add_in_place(rank, "send", 4, right, false);
    add_in_place(rank, "recv", 4, left);
    std::vector<HandTensor> received = {tensor(2)}, sent = {tensor(2)};
    std::int64_t request = ++request_;
    auto batched = [&](const char* name, const std::vector<HandTensor>& tensors,
                       std::int64_t peer) {
      job_.comm(rank, {.name = name,
                       .request = request,
                       .inputs = tensors,
                       .outputs = tensors,
                       .rank = peer,
                       .is_point_to_point = true});
    };
    batched("recv", received, left);
    batched("send", sent, right);
    ++outputs_;
  }

  HandJob job_;
  std::int64_t world_;
  std::string type_;
  std::int64_t item_bytes_;
  std::optional<bool> is_asynchronous_;
  std::int64_t storage_ = 0;
  std::int64_t request_ = 0;
  std::size_t outputs_ = 0;
};

}  // namespace simmesh::replay::samples
