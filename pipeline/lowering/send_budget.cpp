#include "pipeline/lowering/send_budget.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "pipeline/lowering/messages.h"
#include "pipeline/lowering/wait_send.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;
using Node = std::size_t;

constexpr const char* budget_where = "pipeline/send_budget";

// OrderGraph has the actions of all ranks but the waits for sends, which may move. An edge leads
// from what comes first: along a row, from a send to its receive, and from the receive of a send to
// the action that follows its wait.
class OrderGraph {
 public:
  OrderGraph(const Rows& rows, const StageMap& map) {
    for (std::size_t rank = 0; rank < rows.size(); ++rank) add_row(rows[rank], rank);
    std::map<ActionKey, Node> waits = place_waits(rows);
    for (auto [send, node] : sends_) {
      auto receive = receives_.find({std::size_t(message_peer(send, map)), receive_of(send)});
      if (receive == receives_.end())
        raise(ErrorKind::value_error, budget_where, "Pipeline send {} has no matching receive",
              to_string(send));
      receive_of_send_[send] = receive->second;
      add_edge(node, receive->second);
    }
    for (auto [send, before] : waits) move_wait(send, before);
    require_order();
  }

  // Returns the node of an action of a row.
  Node node(std::size_t rank, std::size_t place) const { return nodes_[rank][place]; }

  // MoveRisk says if the receive is certain, or at least able, to be posted before the node.
  enum class MoveRisk : std::uint8_t { none, may_stall, deadlock };
  MoveRisk risk(const ActionKey& send, Node before) {
    Node receive = receive_of_send_.at(send);
    auto old = wait_before_.find(send);
    if (old != wait_before_.end()) remove_edge(receive, old->second);
    MoveRisk risk = is_reachable(before, receive)   ? MoveRisk::deadlock
                    : is_reachable(receive, before) ? MoveRisk::none
                                                    : MoveRisk::may_stall;
    if (old != wait_before_.end()) add_edge(receive, old->second);
    return risk;
  }

  void move_wait(const ActionKey& send, Node before) {
    auto receive = receive_of_send_.find(send);
    if (receive == receive_of_send_.end())
      raise(ErrorKind::key_error, budget_where, "expected a send in the row, got {}",
            to_string(send));
    auto old = wait_before_.find(send);
    if (old != wait_before_.end()) remove_edge(receive->second, old->second);
    add_edge(receive->second, before);
    wait_before_[send] = before;
  }

 private:
  void add_row(const Row& row, std::size_t rank) {
    std::vector<Node>& nodes = nodes_.emplace_back(row.size(), edges_.size());
    bool is_first = true;
    for (std::size_t place = 0; place < row.size(); ++place) {
      const Action& action = row[place];
      if (is_wait_send(action.kind)) continue;
      Node node = edges_.size();
      edges_.emplace_back();
      nodes[place] = node;
      if (!is_first) add_edge(node - 1, node);
      is_first = false;
      if (is_send(action.kind)) sends_[action.key()] = node;
      if (is_recv(action.kind)) receives_[{rank, action.key()}] = node;
    }
  }

  // Returns the action that follows each wait which isn't at the end of its row.
  std::map<ActionKey, Node> place_waits(const Rows& rows) const {
    std::map<ActionKey, Node> waits;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      std::optional<Node> next;
      for (std::size_t place = rows[rank].size(); place-- > 0;) {
        const Action& action = rows[rank][place];
        if (!is_wait_send(action.kind))
          next = node(rank, place);
        else if (next)
          waits[{action.stage, send_of(action.kind), action.microbatch}] = *next;
      }
    }
    return waits;
  }

  void add_edge(Node from, Node to) { edges_[from].push_back(to); }
  void remove_edge(Node from, Node to) {
    auto found = std::find(edges_[from].begin(), edges_[from].end(), to);
    edges_[from].erase(found);
  }

  bool is_reachable(Node from, Node to) const {
    std::vector<bool> visited(edges_.size());
    std::vector<Node> waiting{from};
    while (!waiting.empty()) {
      Node node = waiting.back();
      waiting.pop_back();
      if (node == to) return true;
      if (visited[node]) continue;
      visited[node] = true;
      waiting.insert(waiting.end(), edges_[node].begin(), edges_[node].end());
    }
    return false;
  }

  void require_order() const {
    std::vector<std::size_t> before(edges_.size());
    for (const std::vector<Node>& targets : edges_)
      for (Node target : targets) ++before[target];
    std::vector<Node> ready;
    for (Node node = 0; node < edges_.size(); ++node)
      if (before[node] == 0) ready.push_back(node);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      Node node = ready[i];
      for (Node target : edges_[node])
        if (--before[target] == 0) ready.push_back(target);
    }
    if (ready.size() != edges_.size())
      raise(ErrorKind::value_error, budget_where,
            "Pipeline sends, receives, and waits form a cycle");
  }

  std::vector<std::vector<Node>> edges_;
  std::vector<std::vector<Node>> nodes_;  // of each place of each row
  std::map<ActionKey, Node> sends_;
  std::map<std::pair<std::size_t, ActionKey>, Node> receives_;
  std::map<ActionKey, Node> receive_of_send_;
  std::map<ActionKey, Node> wait_before_;
};

// BudgetedRow is the row of one rank and its pending sends, in order.
struct BudgetedRow {
  OrderGraph& graph;
  std::size_t rank;
  std::int64_t max_outstanding;
  Row row = {};
  std::vector<ActionKey> pending = {};
  std::set<ActionKey> moved = {};

  void add_send(const Action& send, Node node) {
    while (std::int64_t(pending.size()) >= max_outstanding) wait_for_one(send, node);
    row.push_back(send);
    pending.push_back(send.key());
  }

  void add_wait(const Action& wait) {
    ActionKey send{wait.stage, send_of(wait.kind), wait.microbatch};
    if (moved.erase(send) > 0) return;
    auto found = std::find(pending.begin(), pending.end(), send);
    if (found == pending.end())
      raise(ErrorKind::key_error, budget_where, "expected a pending send, got {}", to_string(send));
    pending.erase(found);
    row.push_back(wait);
  }

 private:
  void wait_for_one(const Action& before, Node node) {
    auto best = pending.end();
    for (auto send = pending.begin(); send != pending.end(); ++send) {
      OrderGraph::MoveRisk risk = graph.risk(*send, node);
      if (risk == OrderGraph::MoveRisk::deadlock) continue;
      if (best == pending.end() || risk == OrderGraph::MoveRisk::none) best = send;
      if (risk == OrderGraph::MoveRisk::none) break;
    }
    if (best == pending.end()) fail(before);
    ActionKey send = *best;
    pending.erase(best);
    graph.move_wait(send, node);
    moved.insert(send);
    row.push_back({send.stage, wait_of(send.kind), send.microbatch});
  }

  [[noreturn]] void fail(const Action& before) const {
    std::vector<std::string> texts;
    for (const ActionKey& send : pending) texts.push_back(to_string(send));
    raise(ErrorKind::value_error, budget_where,
          "Cannot satisfy max_outstanding_sends={} on pipeline rank {} before {}. Outstanding: "
          "[{}]. Increase the limit or change the schedule",
          max_outstanding, rank, to_string(before), join_text(texts, ", "));
  }
};

}  // namespace

Rows limit_sends(const Rows& rows, const StageMap& map, std::int64_t max_outstanding) {
  validate_send_waits(rows);
  OrderGraph graph(rows, map);
  Rows result;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    BudgetedRow budgeted{graph, rank, max_outstanding};
    for (std::size_t place = 0; place < rows[rank].size(); ++place) {
      const Action& action = rows[rank][place];
      if (is_send(action.kind))
        budgeted.add_send(action, graph.node(rank, place));
      else if (is_wait_send(action.kind))
        budgeted.add_wait(action);
      else
        budgeted.row.push_back(action);
    }
    result.push_back(std::move(budgeted.row));
  }
  return result;
}

}  // namespace simmesh::pipeline
