#include "replay/validate/check_structure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "core/check/join_text.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

constexpr std::array<std::string_view, 6> known_schemas = {"1.0.1", "1.0.2", "1.0.3",
                                                           "1.0.4", "1.1.0", "1.1.1"};

constexpr std::uint32_t no_parent = ~std::uint32_t(0);

bool is_process_root(const ExecutionTrace& trace, const TraceNode& node) {
  return trace.text(node.name).ends_with("|process]");
}

// StructureCheck checks one trace.
class StructureCheck {
 public:
  StructureCheck(const RankTrace& rank, Findings& findings)
      : rank_(rank), nodes_(rank.trace.nodes), findings_(findings) {}

  void check() {
    check_schema();
    check_ids();
    if (nodes_.empty()) {
      findings_.push_back(
          error_at("no_root", {.rank = rank_.rank, .field = "nodes"}, "expected nodes, got none"));
      return;
    }
    find_root();
    find_parents();
    check_cycles();
  }

 private:
  void check_schema() {
    const TraceSchema& schema = rank_.trace.schema;
    std::string version = fmt::format("{}.{}.{}", schema.major, schema.minor, schema.patch);
    if (std::find(known_schemas.begin(), known_schemas.end(), version) != known_schemas.end())
      return;
    findings_.push_back(
        warning_at("schema", {.rank = rank_.rank, .field = "schema"},
                   fmt::format("expected one of {}, got '{}', which is read as the newest of them",
                               join_text(known_schemas, ", "), schema.text)));
  }

  void check_ids() {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      bool is_first = i == 1 || nodes_[i - 2].id != nodes_[i].id;
      if (nodes_[i].id != nodes_[i - 1].id || !is_first) continue;
      const ExecutionTrace& trace = rank_.trace;
      findings_.push_back(
          error_at("duplicate_id", place(nodes_[i], "id"),
                   fmt::format("two nodes have the id {}: '{}' and '{}'", nodes_[i].id,
                               trace.text(nodes_[i - 1].name), trace.text(nodes_[i].name))));
    }
  }

  void find_root() {
    root_ = nodes_.size();
    for (std::size_t i = 0; i < nodes_.size() && root_ == nodes_.size(); ++i)
      if (is_process_root(rank_.trace, nodes_[i])) root_ = i;
    for (std::size_t i = 0; i < nodes_.size() && root_ == nodes_.size(); ++i)
      if (nodes_[i].parent == nodes_[i].id) root_ = i;
    if (root_ < nodes_.size()) return;
    findings_.push_back(error_at(
        "no_root", {.rank = rank_.rank, .field = "nodes"},
        fmt::format("expected one node that is its own parent, got none among {}; node {} with "
                    "the smallest id has the parent {}",
                    nodes_.size(), nodes_[0].id, nodes_[0].parent)));
    root_ = 0;
  }

  void find_parents() {
    parents_.assign(nodes_.size(), no_parent);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const TraceNode& node = nodes_[i];
      if (i == root_) continue;
      const TraceNode* parent = rank_.trace.find(node.parent);
      if (parent == nullptr) {
        findings_.push_back(warning_at(
            "parent_missing", place(node, "parent"),
            fmt::format("the parent of node {}, node {}, isn't in the trace; the node is taken as "
                        "a child of its thread's root",
                        node.id, node.parent)));
        continue;
      }
      parents_[i] = std::uint32_t(parent - nodes_.data());
      if (parent->id > node.id) later_.push_back(std::uint32_t(i));
    }
  }

  // Walks up from each node until it meets one that was seen; one of the same walk closes a cycle.
  void check_cycles() {
    std::vector<std::uint32_t> walks(nodes_.size());
    std::vector<bool> is_on_cycle(nodes_.size());
    for (std::uint32_t start = 0; start < nodes_.size(); ++start) {
      std::uint32_t at = start;
      while (at != no_parent && walks[at] == 0) {
        walks[at] = start + 1;
        at = parents_[at];
      }
      if (at != no_parent && walks[at] == start + 1) report_cycle(at, is_on_cycle);
    }
    for (std::uint32_t i : later_) {
      if (is_on_cycle[i]) continue;
      findings_.push_back(warning_at("backward_parent", place(nodes_[i], "parent"),
                                     fmt::format("expected a parent that began before node {}, got "
                                                 "node {}",
                                                 nodes_[i].id, nodes_[i].parent)));
    }
  }

  void report_cycle(std::uint32_t first, std::vector<bool>& is_on_cycle) {
    constexpr std::size_t ids_shown = 16;
    std::vector<std::int64_t> ids;
    std::size_t count = 0;
    for (std::uint32_t at = first; !is_on_cycle[at]; at = parents_[at], ++count) {
      is_on_cycle[at] = true;
      if (ids.size() < ids_shown) ids.push_back(nodes_[at].id);
    }
    std::string more = count > ids.size() ? fmt::format(" and {} more", count - ids.size()) : "";
    findings_.push_back(error_at(
        "parent_cycle", place(nodes_[first], "parent"),
        fmt::format("the parents of nodes {}{} form a circle", join_text(ids, ", "), more)));
  }

  FindingPlace place(const TraceNode& node, std::string_view field) const {
    return {.rank = rank_.rank, .node = node.id, .field = field};
  }

  const RankTrace& rank_;
  const std::vector<TraceNode>& nodes_;
  Findings& findings_;
  std::size_t root_ = 0;
  std::vector<std::uint32_t> parents_;  // by index of the node
  std::vector<std::uint32_t> later_;    // nodes with a larger parent
};

}  // namespace

void check_structure(const RankTrace& rank, Findings& findings) {
  StructureCheck(rank, findings).check();
}

}  // namespace simmesh::replay
