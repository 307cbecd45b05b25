#include "replay/run/rank_replay.h"

#include <algorithm>
#include <numeric>

#include "collectives/point_to_point.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/clock/clock.h"
#include "core/memory/data_mode.h"
#include "core/memory/ledger.h"
#include "core/tensor/flat.h"

namespace simmesh::replay {

namespace {

std::int64_t elements_of(gsl::span<const Tensor> tensors) {
  std::int64_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.numel();
  return sum;
}

bool have_equal_sizes(gsl::span<const Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& tensor) { return tensor.numel() == tensors[0].numel(); });
}

// Returns views that cut a flat tensor evenly; a remainder belongs to nobody.
std::vector<Tensor> even_parts(const Tensor& whole, std::int64_t parts) {
  std::vector<Tensor> cut;
  std::int64_t length = whole.numel() / parts;
  for (std::int64_t part = 0; part < parts; ++part)
    cut.push_back(whole.narrow({.dim = 0, .start = part * length, .length = length}));
  return cut;
}

// Returns the tensors one after another, where a real collective would read each of them in place.
Tensor concatenated(gsl::span<const Tensor> tensors) {
  Ledger::Uncharged workspace;
  Clock::Quiet no_copies;
  return flattened(tensors, tensors[0].dtype());
}

}  // namespace

std::uint64_t hash_outputs(gsl::span<const Tensor> outputs) {
  FoldHash hash;
  for (const Tensor& output : outputs) fold_into(hash, output);
  return hash.value();
}

RankReplay::RankReplay(const ReplayProgram& program, std::size_t rank,
                       const IterationOptions& options)
    : program_(program),
      rank_(program.ranks[rank]),
      options_(options),
      repeats_(options.warm_up + options.iterations > 1),
      storages_(rank_.storages.size()),
      payloads_(repeats_ ? rank_.tensors.size() : 0),
      groups_(program.groups.size()) {}

std::vector<CommOutput> RankReplay::run() {
  ProcessGroup world =
      ProcessGroup::of(RankList::range(std::int64_t(program_.ranks.size())), "replay");
  if (options_.allocation == Allocation::pre)
    for (std::uint32_t storage = 0; storage < storages_.size(); ++storage)
      if (rank_.storages[storage].is_leaf) allocate(storage);
  for (std::int64_t i = 0; i < options_.warm_up + options_.iterations; ++i) {
    is_last_ = i + 1 == options_.warm_up + options_.iterations;
    barrier(world);
    run_iteration();
  }
  barrier(world);
  return std::move(outputs_);
}

void RankReplay::run_iteration() {
  for (std::uint32_t step = 0; step < rank_.steps.size(); ++step) {
    run_step(step);
    if (options_.allocation == Allocation::lazy) release_after(step);
  }
  finish_all();
  for (std::uint32_t storage = 0; storage < storages_.size(); ++storage)
    if (options_.allocation == Allocation::lazy || !rank_.storages[storage].is_leaf)
      storages_[storage].reset();
  std::sort(outputs_.begin(), outputs_.end(),
            [](const CommOutput& a, const CommOutput& b) { return a.step < b.step; });
}

void RankReplay::run_step(std::uint32_t step) {
  const ProgramStep& what = rank_.steps[step];
  for (std::uint32_t storage : rank_.indices_in(what.uses)) allocate(storage);
  if (what.kind == ProgramStep::Kind::communicate) communicate(step);
  if (what.kind == ProgramStep::Kind::compute) compute(what);
  for (std::uint32_t begun : rank_.indices_in(what.waits)) finish(begun);
}

// An operator computes nothing: its outputs get their elements when they are sent.
void RankReplay::compute(const ProgramStep& step) {
  Clock* clock = Clock::active();
  if (!clock) return;
  double us = operator_us(step, clock->model());
  if (us > 0) clock->launch({.name = "operator", .site = site_of(step), .cost_us = us});
}

void RankReplay::allocate(std::uint32_t storage) {
  if (storages_[storage]) return;
  const ProgramStorage& what = rank_.storages[storage];
  Ledger::Uncharged in_host_memory(!what.is_on_device);
  if (what.communicates)
    storages_[storage] = Storage::make(std::size_t(what.bytes));
  else
    storages_[storage] = Storage::make_unbacked(std::size_t(what.bytes), what.is_on_device);
}

void RankReplay::release_after(std::uint32_t step) {
  const ProgramStep& what = rank_.steps[step];
  auto release = [&](TraceRange uses) {
    for (std::uint32_t storage : rank_.indices_in(uses))
      if (rank_.storages[storage].last_step == step) storages_[storage].reset();
  };
  release(what.uses);
  for (std::uint32_t begun : rank_.indices_in(what.waits)) release(rank_.steps[begun].uses);
}

const ProcessGroup& RankReplay::group_of(const ProgramStep& step) {
  std::optional<ProcessGroup>& group = groups_[step.group];
  if (!group) {
    const JobGroup& of = program_.groups[step.group];
    group = ProcessGroup::of(RankList::of(of.members), std::to_string(of.number));
  }
  return *group;
}

CallSite RankReplay::site_of(const ProgramStep& step) const {
  return {.file = rank_.file.c_str(), .line = int(step.node)};
}

std::vector<Tensor> RankReplay::views(TraceRange tensors) {
  std::vector<Tensor> made;
  for (const ProgramTensor& tensor : rank_.tensors_in(tensors)) {
    std::int64_t offset = tensor.begin_bytes / std::int64_t(bytes_per_element(tensor.dtype));
    made.emplace_back(storages_[tensor.storage], tensor.dtype, Shape{tensor.elements}, Strides{1},
                      offset);
  }
  return made;
}

std::vector<Tensor> RankReplay::filled_inputs(std::uint32_t step) {
  TraceRange range = rank_.steps[step].inputs;
  std::vector<Tensor> inputs = views(range);
  if (DataMode::shapes_only()) return inputs;
  Ledger::Uncharged workspace;
  Clock::Quiet no_copies;
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    Tensor made = repeats_ ? payloads_[range.begin + i] : Tensor();
    if (!made.is_defined()) made = payload_of(rank_, step, i, options_.payload);
    if (repeats_) payloads_[range.begin + i] = made;
    adopt_(inputs[i], made);
  }
  return inputs;
}

void RankReplay::communicate(std::uint32_t step) {
  const ProgramStep& what = rank_.steps[step];
  const ProcessGroup& group = group_of(what);
  if (what.comm == CommKind::recv && !what.is_asynchronous) return receive(step, group);
  if (is_message(what.comm)) return start_message(step, group);
  std::vector<Tensor> inputs = filled_inputs(step);
  std::vector<CollectiveCall> calls = calls_of(step, inputs);
  Ledger::Uncharged workspace;
  if (!what.is_asynchronous) {
    put_out(step, run_calls(calls, group));
  } else {
    UnderWay& begun = under_way_[step];
    for (const CollectiveCall& call : calls) begun.push_back(start_collective(group, call));
  }
  flat_.clear();
}

std::vector<Tensor> RankReplay::run_calls(gsl::span<const CollectiveCall> calls,
                                          const ProcessGroup& group) {
  if (calls.size() == 1) return run_collective(group, calls[0]);
  std::vector<Tensor> results;
  for (const CollectiveCall& call : calls)
    for (Tensor& result : run_collective(group, call)) results.push_back(std::move(result));
  return results;
}

std::vector<CollectiveCall> RankReplay::calls_of(std::uint32_t step,
                                                 gsl::span<const Tensor> inputs) {
  const ProgramStep& what = rank_.steps[step];
  auto members = program_.groups[what.group].members.size();
  CollectiveCall call{.root = what.root,
                      .inputs = inputs,
                      .input_splits = {},
                      .output_splits = {},
                      .site = site_of(what)};
  auto require_inputs = [&](std::size_t count) {
    if (call.inputs.size() != count)
      raise(ErrorKind::value_error, "replay/run", "{} at {}: expected {} input tensors, got {}",
            rank_.texts[what.name], to_string(call.site), count, call.inputs.size());
  };
  auto one_a_tensor = [&](CollectiveOp op) {
    std::vector<CollectiveCall> calls(inputs.size(), call);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      calls[i].op = op;
      calls[i].inputs = inputs.subspan(i, 1);
    }
    return calls;
  };
  switch (what.comm) {
    case CommKind::all_reduce:
    case CommKind::all_reduce_coalesced: call.op = CollectiveOp::all_reduce; break;
    case CommKind::broadcast: return one_a_tensor(CollectiveOp::broadcast);
    case CommKind::reduce: return one_a_tensor(CollectiveOp::reduce);
    case CommKind::all_gather:
    case CommKind::all_gather_base:
    case CommKind::all_gather_coalesced:
      call.op = what.is_list ? CollectiveOp::all_gather_list : CollectiveOp::all_gather;
      break;
    case CommKind::gather:
      call.op = CollectiveOp::gather;
      require_inputs(1);
      break;
    case CommKind::scatter:
      call.op = CollectiveOp::scatter;
      if (what.member != what.root) {
        call.inputs = {};
        break;
      }
      if (inputs.size() == 1) call.inputs = flat_ = even_parts(inputs[0], std::int64_t(members));
      require_inputs(members);
      break;
    case CommKind::reduce_scatter:
    case CommKind::reduce_scatter_base:
    case CommKind::reduce_scatter_coalesced:
      call.op = CollectiveOp::reduce_scatter;
      if (!what.is_list) break;
      if (!have_equal_sizes(inputs)) {
        std::vector<CollectiveCall> calls = one_a_tensor(CollectiveOp::reduce);
        for (std::size_t i = 0; i < calls.size(); ++i) calls[i].root = std::int64_t(i);
        return calls;
      }
      flat_ = {concatenated(inputs)};
      call.inputs = flat_;
      break;
    case CommKind::all_to_all:
    case CommKind::all_to_allv:
      call.op = what.is_list ? CollectiveOp::all_to_all_list : CollectiveOp::all_to_all;
      require_inputs(what.is_list ? members : 1);
      call.uneven = !what.is_list;
      call.input_splits = rank_.numbers_in(what.in_split);
      call.output_splits = rank_.numbers_in(what.out_split);
      break;
    default: call.inputs = {}; break;
  }
  return {call};
}

void RankReplay::start_message(std::uint32_t step, const ProcessGroup& group) {
  const ProgramStep& what = rank_.steps[step];
  UnderWay& begun = under_way_[step];
  if (what.comm == CommKind::send) {
    for (const Tensor& input : filled_inputs(step))
      begun.push_back(isend(input, {.peer = what.root}, group, site_of(what)));
    return;
  }
  ReceiveFrom from;
  if (!what.takes_any_source) from.peer = what.root;
  for (const Tensor& output : views(what.outputs))
    begun.push_back(irecv(output.shape(), output.dtype(), from, group, site_of(what)));
}

void RankReplay::receive(std::uint32_t step, const ProcessGroup& group) {
  const ProgramStep& what = rank_.steps[step];
  ReceiveFrom from;
  if (!what.takes_any_source) from.peer = what.root;
  Ledger::Uncharged workspace;
  std::vector<Tensor> received;
  for (const Tensor& output : views(what.outputs))
    received.push_back(recv(output.shape(), output.dtype(), from, group, site_of(what)).tensor);
  put_out(step, received);
}

void RankReplay::finish(std::uint32_t step) {
  auto begun = under_way_.extract(step);
  if (begun.empty()) return;
  CallSite site = site_of(rank_.steps[step]);
  Ledger::Uncharged workspace;
  std::vector<Tensor> results;
  for (Work& work : begun.mapped())
    for (const Tensor& result : work.wait_all(site)) results.push_back(result);
  put_out(step, results);
}

void RankReplay::finish_all() {
  while (!under_way_.empty()) finish(under_way_.begin()->first);
}

// Results fill the outputs one after another, however each side is cut. A rank that gets no result,
// such as all but the root of a gather, has no outputs.
void RankReplay::put_out(std::uint32_t step, gsl::span<const Tensor> results) {
  const ProgramStep& what = rank_.steps[step];
  if (results.empty()) return;
  std::vector<Tensor> outputs = views(what.outputs);
  if (elements_of(results) != elements_of(outputs))
    raise(ErrorKind::value_error, "replay/run",
          "{} at {}: expected outputs of {} elements, which it gives, got {} in the trace",
          rank_.texts[what.name], to_string(site_of(what)), elements_of(results),
          elements_of(outputs));
  if (DataMode::shapes_only()) return;
  Clock::Quiet no_copies;
  bool is_alike = std::equal(
      results.begin(), results.end(), outputs.begin(), outputs.end(),
      [](const Tensor& result, const Tensor& output) { return result.numel() == output.numel(); });
  std::vector<Tensor> parts(results.begin(), results.end());
  if (!is_alike) {
    std::vector<Shape> shapes;
    for (const Tensor& output : outputs) shapes.push_back(output.shape());
    parts = flat_parts(concatenated(results), shapes);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    adopt_(outputs[i], parts[i].view(outputs[i].shape()));
  if (!is_last_) return;
  CommOutput output{.step = step, .hash = hash_outputs(outputs)};
  if (options_.keeps_outputs)
    for (const Tensor& tensor : outputs)
      output.bytes.emplace_back(tensor.data(), tensor.data() + tensor.bytes());
  outputs_.push_back(std::move(output));
}

}  // namespace simmesh::replay
