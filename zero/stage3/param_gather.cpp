#include "zero/stage3/param_gather.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "collectives/collective_call.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/convert.h"
#include "core/tensor/flat.h"
#include "zero/fetch/collective_record.h"
#include "zero/fetch/event.h"

namespace simmesh::zero {

namespace {

// Copies a parameter's pieces from the ranks' slots, which follow one another.
struct SlotPiece {
  std::int64_t slot;    // elements of a slot
  std::int64_t offset;  // of the parameter within it
  std::int64_t numel;   // of its shard
};

void copy_pieces(Tensor& target, const Tensor& flat, const SlotPiece& piece) {
  if (!flat.has_elements() || target.numel() == 0) return;
  std::size_t size = bytes_per_element(target.dtype());
  std::byte* to = target.mutable_data();
  const std::byte* from = flat.data();
  std::int64_t left = target.numel();
  for (std::int64_t rank = 0; left > 0; ++rank, left -= piece.numel)
    std::memcpy(to + std::size_t(rank * piece.numel) * size,
                from + std::size_t(rank * piece.slot + piece.offset) * size,
                std::size_t(std::min(piece.numel, left)) * size);
}

}  // namespace

std::int64_t gathered_bytes() {
  const Ledger* ledger = Ledger::active();
  return ledger ? ledger->of(MemoryCategory::communication).current : 0;
}

ParamGather::ParamGather(const std::vector<PartitionedParam*>& members,
                         const PartitionGroups& groups, bool from_secondary,
                         const GatherOptions& options)
    : groups_(groups),
      group_(from_secondary ? *groups.secondary : groups.all),
      from_secondary_(from_secondary),
      options_(options) {
  NoGrad mode;
  Ledger::Category category(MemoryCategory::communication);
  if (options_.one_by_one || members.size() == 1) {
    for (PartitionedParam* member : members) start({member});
    return;
  }
  std::map<std::string_view, std::vector<PartitionedParam*>> by_dtype;
  for (PartitionedParam* member : members) by_dtype[to_string(dtype_of(*member))].push_back(member);
  for (auto& [name, same] : by_dtype) start(std::move(same));
}

const Tensor& ParamGather::input_of(const PartitionedParam& param) const {
  return from_secondary_ ? param.secondary() : param.shard();
}

DType ParamGather::dtype_of(const PartitionedParam& param) const {
  return options_.lowers ? param.lower_dtype().value_or(param.dtype()) : param.dtype();
}

// A collective reads its input at its start.
void ParamGather::start(std::vector<PartitionedParam*> members) {
  Part& part = parts_.emplace_back(Part{.members = std::move(members)});
  if (!from_secondary_) {
    for (PartitionedParam* member : part.members) member->prefetch_shard();
    if (group_.size() > 1)
      for (PartitionedParam* member : part.members) member->fetch_shard();
  }
  for (PartitionedParam* member : part.members) part.slot += input_of(*member).numel();
  if (group_.size() == 1) return;
  CallContents contents(names_of(part.members));
  part.is_reduced = part.members.size() > 1 && options_.by_all_reduce && !from_secondary_;
  if (part.is_reduced)
    start_all_reduce(part);
  else
    start_all_gather(part);
}

void ParamGather::start_all_gather(Part& part) {
  DType dtype = dtype_of(*part.members.front());
  part.output = empty_meta(Dims{part.slot * group_.size()}, dtype, true);
  Tensor input = converted(input_of(*part.members.front()), dtype);
  if (part.members.size() > 1) {
    // On a device the input is this rank's slot of the output.
    Ledger::Uncharged in_output;
    std::vector<Tensor> shards;
    for (PartitionedParam* member : part.members)
      shards.push_back(converted(input_of(*member), dtype));
    input = flattened(shards, dtype);
  }
  record_collective("all_gather_into_tensor", input, group_, groups_.all);
  part.work = start_collective(
      group_, {.op = CollectiveOp::all_gather, .inputs = {&input, 1}, .site = CallSite::here()},
      {.into = part.output});
}

void ParamGather::start_all_reduce(Part& part) {
  DType dtype = dtype_of(*part.members.front());
  part.output = full({part.slot * group_.size()}, dtype, -0.0);
  std::int64_t offset = 0;
  for (PartitionedParam* member : part.members) {
    std::int64_t numel = member->shard_numel();
    Tensor own = part.output.narrow({0, offset + group_.rank() * numel, numel});
    copy_(own, converted(member->shard(), dtype));
    offset += group_.size() * numel;
  }
  record_collective("all_reduce", part.output, group_, groups_.all);
  part.work = start_collective(group_,
                               {.op = CollectiveOp::all_reduce,
                                .reduce = ReduceOp::sum,
                                .inputs = {&part.output, 1},
                                .site = CallSite::here()},
                               {.into = part.output});
}

void ParamGather::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  NoGrad mode;
  Ledger::Category category(MemoryCategory::communication);
  bool copies = false;
  for (Part& part : parts_) {
    finish(part);
    copies |= part.members.size() > 1 && !part.is_reduced && group_.size() > 1;
  }
  if (copies && is_observed()) emit({.kind = EventKind::copy_out, .bytes = gathered_bytes()});
}

void ParamGather::finish(Part& part) {
  if (group_.size() == 1) {
    for (PartitionedParam* member : part.members) {
      member->fetch_shard();
      member->take(input_of(*member), 0);
    }
    return;
  }
  part.work.wait();
  part.work = Work();
  if (!part.is_reduced && part.members.size() > 1) return copy_out(part);
  std::int64_t offset = 0;
  for (PartitionedParam* member : part.members) {
    if (part.output.dtype() == member->dtype())
      member->take(part.output, offset);
    else
      member->take(
          converted(part.output.narrow({0, offset, member->numel()}), member->dtype()).clone(), 0);
    offset += input_of(*member).numel() * group_.size();
  }
  part.output = Tensor();
}

void ParamGather::copy_out(const Part& part) const {
  std::int64_t offset = 0;
  for (PartitionedParam* member : part.members) {
    std::int64_t numel = input_of(*member).numel();
    Tensor whole = empty({member->numel()}, part.output.dtype());
    copy_pieces(whole, part.output, {.slot = part.slot, .offset = offset, .numel = numel});
    member->take(converted(whole, member->dtype()), 0);
    offset += numel;
  }
}

}  // namespace simmesh::zero
