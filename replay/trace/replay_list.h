#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// TraceTree is the tree of the nodes' parents. A node whose parent isn't in the trace is a child of
// the root of its thread, or of the root where that is unknown.
struct TraceTree {
  std::size_t root = 0;                       // index of the node with the smallest id
  std::vector<std::uint32_t> parents;         // by index of the node; the root's is itself
  std::vector<std::uint32_t> children;        // sorted by parent, then by id
  std::vector<std::uint32_t> children_begin;  // by index; one more at the end
  std::vector<std::uint32_t> orphans;         // nodes whose parent isn't in the trace
};

// tree_of returns the tree of a trace. Raises a ValueError for a trace without nodes, and where
// parents form a cycle.
TraceTree tree_of(const ExecutionTrace& trace);

// is_operator is true if a node is replayed as an operator: a communication node, one with an
// op_schema whose name doesn't begin with "c10d::", or a Triton kernel.
bool is_operator(const ExecutionTrace& trace, const TraceNode& node);

// ReplayList is the operators of a replay: the first operator on each path from the root, sorted by
// id; the nodes below an operator are its implementation. Steps are the nodes met on the way whose
// name contains "ProfilerStep#".
struct ReplayList {
  std::vector<std::uint32_t> operators;  // indices of nodes
  std::vector<std::uint32_t> steps;
};
ReplayList replay_list(const ExecutionTrace& trace, const TraceTree& tree);

// window_of returns the operators of a step: those with an id between its marker and the next. The
// last one goes to the end of the trace. nullopt: all operators. Raises an IndexError for a step
// that the trace doesn't have.
std::vector<std::uint32_t> window_of(const ExecutionTrace& trace, const ReplayList& list,
                                     std::optional<std::size_t> step);

}  // namespace simmesh::replay
