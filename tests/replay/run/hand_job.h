#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/run/replay_program.h"

namespace simmesh::replay::samples {

// HandTensor is a contiguous tensor of a trace that is made by hand.
struct HandTensor {
  std::int64_t storage = 1;
  std::int64_t elements = 0;
  std::string type = "float";
  std::int64_t item_bytes = 4;
  std::int64_t offset = 0;
  std::string device = "cuda:0";
};

// HandComm is a communication of such a trace, in a group of the job by index; nullopt for a wait
// that names none.
struct HandComm {
  std::string name;
  std::int64_t request = 0;
  std::vector<HandTensor> inputs = {};
  std::vector<HandTensor> outputs = {};
  std::int64_t rank = 0;
  std::vector<std::int64_t> in_split = {};
  std::vector<std::int64_t> out_split = {};
  std::optional<std::uint32_t> group = 0;
  std::optional<bool> is_asynchronous = {};
  std::optional<bool> is_point_to_point = {};
};

// HandJob is a job whose nodes are made one by one. Node 1 is the root of each trace; the others
// count from 2.
class HandJob {
 public:
  // The first group is that of all ranks; the others are given by their members.
  explicit HandJob(std::int64_t world, const std::vector<std::vector<std::int64_t>>& groups = {}) {
    groups_.world_size = world;
    std::vector<std::int64_t> all;
    for (std::int64_t rank = 0; rank < world; ++rank) all.push_back(rank);
    add_group(all);
    for (const auto& members : groups) add_group(members);
    groups_.comms.resize(std::size_t(world));
    for (std::int64_t rank = 0; rank < world; ++rank) {
      RankTrace trace;
      trace.rank = rank;
      trace.file = "hand/rank-" + std::to_string(rank) + ".json";
      trace.trace.nodes.push_back({.id = 1, .parent = 1, .name = trace.trace.texts.id_of("root")});
      job_.ranks.push_back(std::move(trace));
    }
  }

  // comm adds a communication to a rank and returns its node's id.
  std::int64_t comm(std::int64_t rank, const HandComm& made) {
    ExecutionTrace& trace = job_.ranks[std::size_t(rank)].trace;
    TraceNode node = next_node(trace, "record_param_comms");
    node.inputs = add(trace, made.inputs);
    node.outputs = add(trace, made.outputs);
    TraceComm comm;
    comm.name = trace.texts.id_of(made.name);
    comm.request = {made.request, made.is_point_to_point};
    comm.rank = made.rank;
    comm.in_split = add(trace, made.in_split);
    comm.out_split = add(trace, made.out_split);
    for (const HandTensor& tensor : made.inputs) comm.in_elements += tensor.elements;
    for (const HandTensor& tensor : made.outputs) comm.out_elements += tensor.elements;
    if (!made.inputs.empty() || !made.outputs.empty()) comm.dtype = trace.texts.id_of("Float");
    comm.is_asynchronous = made.is_asynchronous;
    node.comm = std::uint32_t(trace.comms.size());
    groups_.comms[std::size_t(rank)].push_back(
        {.node = std::uint32_t(trace.nodes.size()), .group = made.group});
    trace.comms.push_back(comm);
    trace.nodes.push_back(node);
    return node.id;
  }

  // op adds an operator.
  std::int64_t op(std::int64_t rank, const std::string& name, const std::vector<HandTensor>& inputs,
                  const std::vector<HandTensor>& outputs) {
    ExecutionTrace& trace = job_.ranks[std::size_t(rank)].trace;
    TraceNode node = next_node(trace, name);
    node.op_schema = trace.texts.id_of(name + "(Tensor self) -> Tensor");
    node.inputs = add(trace, inputs);
    node.outputs = add(trace, outputs);
    trace.nodes.push_back(node);
    return node.id;
  }

  TraceJob& job() { return job_; }
  const JobGroups& groups() const { return groups_; }
  ReplayProgram program(const ProgramOptions& options = {}) const {
    return make_program(job_, groups_, options);
  }

 private:
  void add_group(const std::vector<std::int64_t>& members) {
    std::int64_t number = 0;
    for (const JobGroup& group : groups_.groups) number += group.members == members ? 1 : 0;
    groups_.groups.push_back({.members = members, .number = number});
  }

  static TraceNode next_node(ExecutionTrace& trace, const std::string& name) {
    return {
        .id = std::int64_t(trace.nodes.size()) + 1, .parent = 1, .name = trace.texts.id_of(name)};
  }

  static TraceRange add(ExecutionTrace& trace, const std::vector<std::int64_t>& numbers) {
    TraceRange range{std::uint32_t(trace.numbers.size()), 0};
    trace.numbers.insert(trace.numbers.end(), numbers.begin(), numbers.end());
    range.end = std::uint32_t(trace.numbers.size());
    return range;
  }

  static TraceRange add(ExecutionTrace& trace, const std::vector<HandTensor>& tensors) {
    TraceRange range{std::uint32_t(trace.tensors.size()), 0};
    for (const HandTensor& tensor : tensors) {
      TraceRange shape = add(trace, std::vector<std::int64_t>{tensor.elements});
      trace.tensors.push_back({.tensor = tensor.storage,
                               .storage = tensor.storage,
                               .offset = tensor.offset,
                               .elements = tensor.elements,
                               .item_bytes = tensor.item_bytes,
                               .device = trace.texts.id_of(tensor.device),
                               .type = trace.texts.id_of(tensor.type),
                               .shape = shape});
    }
    range.end = std::uint32_t(trace.tensors.size());
    return range;
  }

  TraceJob job_;
  JobGroups groups_;
};

}  // namespace simmesh::replay::samples
