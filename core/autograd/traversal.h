#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>

#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// GradientRoot is a place on the tape where a backward pass starts, and the gradient there. The
// tensor that was computed there may be gone.
struct GradientRoot {
  Edge edge;
  Tensor gradient;
};

// Traversal is one backward pass over the tape, whole or in two parts. Nodes that are ready run
// latest-made first, leaves before all others.
class Traversal {
 public:
  struct Options {
    bool retain_graph = false;
    bool create_graph = false;
    // The pass first runs what leads to the captured places, and the rest on its own: run_rest.
    bool is_split = false;
  };

  explicit Traversal(Options options) : options_(options) {}

  void add_root(const GradientRoot& root);
  // capture keeps the gradient at a place, in slot order; the pass then only runs the nodes that
  // lead there.
  void capture(const Tensor& input, bool accumulate);
  void run();
  // run_rest runs, after run, what a split pass has left out: it adds the gradients of all leaves,
  // up to the captured places. Nodes run in the same order as in a whole pass, so no sum changes.
  void run_rest();
  Tensor& captured(std::size_t slot) { return captured_[slot]; }

 private:
  // A place where a gradient is wanted: an output of a node, or a leaf.
  struct Place {
    Node* node;
    std::uint32_t output;
    auto operator<=>(const Place&) const = default;
  };
  struct Ready {
    std::uint64_t sequence;
    NodePtr node;
    bool operator<(const Ready& other) const { return sequence < other.sequence; }
  };
  // The part of a node's work that a split pass has left out: the node is applied to these
  // gradients, or its results are known and only wait.
  struct Rest {
    Gradients gradients;
    Gradients results;
    bool has_results = false;
  };
  // The pass's own state of a node.
  struct State {
    std::size_t dependencies = 0;  // nodes that have yet to send it a gradient
    Gradients waiting;
    Gradients passing;  // parts for a node that passes them on
    Rest rest;
    bool has_rest = false;
    bool is_seen = false;
    bool leads_to_capture = false;
  };
  // One flag an edge; none stands for all.
  using Mask = std::vector<char>;

  void start();
  void count_dependencies();
  void find_needed(const std::vector<NodePtr>& nodes);
  void process(const NodePtr& node);
  void apply(const NodePtr& node, Gradients gradients);
  void apply_needed(const NodePtr& node, Gradients gradients);
  void apply_rest(const NodePtr& node);
  void pass_on(const NodePtr& node, Gradients parts);
  void send_results(const Node& node, Gradients results, const Mask& wanted);
  void send(const Edge& edge, Tensor gradient, const Node& from);
  bool sums_parts(Node& node) const;
  bool is_end(Node& node) const;
  bool is_needed(const State& state) const {
    if (options_.is_split) return runs_rest_ != state.leads_to_capture;
    return places_.empty() || state.leads_to_capture;
  }
  State& state_of(const NodePtr& node) { return states_[node.get()]; }
  bool leads_to_capture(const Edge& edge) {
    return edge.node && state_of(edge.node).leads_to_capture;
  }

  Options options_;
  bool is_counted_ = false;
  bool runs_rest_ = false;
  std::vector<NodePtr> roots_;
  std::unordered_map<Node*, State> states_;  // only looked up, never walked
  std::vector<NodePtr> with_rest_;           // in the order in which they ran
  std::priority_queue<Ready> ready_;
  std::map<Place, std::size_t> places_;
  std::vector<bool> accumulates_;
  Gradients captured_;
};

}  // namespace simmesh
