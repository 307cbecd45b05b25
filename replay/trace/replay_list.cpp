#include "replay/trace/replay_list.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/check/error.h"
#include "replay/trace/node_places.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view tree_place = "replay/tree";

// The roots of the threads are the children of the root with such a name.
std::unordered_map<std::int64_t, std::uint32_t> thread_roots(const ExecutionTrace& trace) {
  std::unordered_map<std::int64_t, std::uint32_t> roots;
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i)
    if (trace.text(trace.nodes[i].name).ends_with("|thread]"))
      roots.emplace(trace.nodes[i].thread, i);
  return roots;
}

void sort_children(TraceTree& tree) {
  std::size_t count = tree.parents.size();
  tree.children_begin.assign(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i)
    if (i != tree.root) ++tree.children_begin[tree.parents[i] + 1];
  std::partial_sum(tree.children_begin.begin(), tree.children_begin.end(),
                   tree.children_begin.begin());
  tree.children.resize(count - 1);
  std::vector<std::uint32_t> next(tree.children_begin.begin(), tree.children_begin.end() - 1);
  for (std::uint32_t i = 0; i < count; ++i)
    if (i != tree.root) tree.children[next[tree.parents[i]]++] = i;
}

// A node that no walk from the root reaches is on a cycle of parents or below one.
void require_reachable(const ExecutionTrace& trace, const TraceTree& tree) {
  std::vector<bool> is_reached(trace.nodes.size());
  std::vector<std::uint32_t> rest = {std::uint32_t(tree.root)};
  while (!rest.empty()) {
    std::uint32_t i = rest.back();
    rest.pop_back();
    is_reached[i] = true;
    rest.insert(rest.end(), tree.children.begin() + tree.children_begin[i],
                tree.children.begin() + tree.children_begin[i + 1]);
  }
  auto lost = std::find(is_reached.begin(), is_reached.end(), false);
  if (lost != is_reached.end())
    raise(ErrorKind::value_error, tree_place, "the parents of node {} lead to no root",
          trace.nodes[std::size_t(lost - is_reached.begin())].id);
}

}  // namespace

TraceTree tree_of(const ExecutionTrace& trace) {
  if (trace.nodes.empty()) raise(ErrorKind::value_error, tree_place, "the trace has no nodes");
  TraceTree tree;
  tree.parents.resize(trace.nodes.size());
  NodePlaces places(trace);
  auto roots = thread_roots(trace);
  for (std::uint32_t i = 0; i < trace.nodes.size(); ++i) {
    const TraceNode& node = trace.nodes[i];
    if (i == tree.root) continue;
    auto parent = places.find(node.parent);
    if (parent && *parent != i) {
      tree.parents[i] = *parent;
      continue;
    }
    tree.orphans.push_back(i);
    auto thread = roots.find(node.thread);
    tree.parents[i] =
        thread != roots.end() && thread->second != i ? thread->second : std::uint32_t(tree.root);
  }
  sort_children(tree);
  require_reachable(trace, tree);
  return tree;
}

bool is_operator(const ExecutionTrace& trace, const TraceNode& node) {
  if (trace.text(node.kernel_backend) == "triton" || is_communication(trace, node)) return true;
  return node.op_schema != TextId{} && !trace.text(node.name).starts_with("c10d::");
}

ReplayList replay_list(const ExecutionTrace& trace, const TraceTree& tree) {
  ReplayList list;
  std::vector<std::uint32_t> rest = {std::uint32_t(tree.root)};
  while (!rest.empty()) {
    std::uint32_t i = rest.back();
    rest.pop_back();
    const TraceNode& node = trace.nodes[i];
    if (is_operator(trace, node)) {
      list.operators.push_back(i);
      continue;
    }
    if (trace.text(node.name).find("ProfilerStep#") != std::string_view::npos)
      list.steps.push_back(i);
    for (std::uint32_t c = tree.children_begin[i]; c < tree.children_begin[i + 1]; ++c)
      rest.push_back(tree.children[c]);
  }
  std::sort(list.operators.begin(), list.operators.end());
  std::sort(list.steps.begin(), list.steps.end());
  return list;
}

std::vector<std::uint32_t> window_of(const ExecutionTrace& trace, const ReplayList& list,
                                     std::optional<std::size_t> step) {
  if (!step) return list.operators;
  if (*step >= list.steps.size())
    raise(ErrorKind::index_error, tree_place, "step {} was asked for, the trace has {}", *step,
          list.steps.size());
  std::uint32_t begin = list.steps[*step];
  std::uint32_t end =
      *step + 1 < list.steps.size() ? list.steps[*step + 1] : std::uint32_t(trace.nodes.size());
  auto first = std::upper_bound(list.operators.begin(), list.operators.end(), begin);
  return {first, std::lower_bound(first, list.operators.end(), end)};
}

}  // namespace simmesh::replay
