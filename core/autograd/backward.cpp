#include "core/autograd/backward.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward_span.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/ranks/local_state.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

constexpr std::string_view backward_source = "autograd/backward";

struct Pass {
  std::uint64_t number;
  std::vector<std::function<void()>> callbacks;
};

// The backward passes that run on a rank, the innermost last.
struct Passes {
  std::uint64_t next = 0;
  std::vector<Pass> running;
};

Passes& passes() { return local_state<Passes>(); }

class PassScope {
 public:
  PassScope() : passes_(passes()) { passes_.running.push_back({passes_.next++, {}}); }
  ~PassScope() { passes_.running.pop_back(); }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

  // A callback may queue further ones.
  void run_callbacks() {
    for (std::size_t i = 0; i < passes_.running.back().callbacks.size(); ++i) {
      auto callback = std::move(passes_.running.back().callbacks[i]);
      callback();
    }
  }

 private:
  Passes& passes_;
  BackwardSpan span_;
};

Tensor added(const Tensor& a, const Tensor& b) {
  if (!a.is_defined()) return b;
  return b.is_defined() ? add(a, b) : a;
}

// A place where a gradient is wanted: an output of a node, or a leaf.
struct Place {
  Node* node;
  std::uint32_t output;
  auto operator<=>(const Place&) const = default;
};

// Traversal is one backward pass over the tape. Maps by address are only looked up, never walked.
class Traversal {
 public:
  struct Options {
    bool retain_graph;
    bool create_graph;
  };

  explicit Traversal(Options options) : options_(options) {}

  void add_root(const Tensor& tensor, const Tensor& gradient);
  // capture keeps the gradient at a place, in slot order; the pass then only runs the nodes that
  // lead there.
  void capture(const Tensor& input, bool accumulate);
  void run();
  Tensor& captured(std::size_t slot) { return captured_[slot]; }

 private:
  struct Ready {
    std::uint64_t sequence;
    NodePtr node;
    bool operator<(const Ready& other) const { return sequence < other.sequence; }
  };

  void count_dependencies();
  void find_needed(const std::vector<NodePtr>& nodes);
  void process(const NodePtr& node);
  void pass_on(const NodePtr& node, Gradients parts);
  void send(const Edge& edge, Tensor gradient, const Node& from);
  bool is_needed(Node* node) const { return places_.empty() || needed_.count(node) > 0; }

  Options options_;
  std::vector<NodePtr> roots_;
  std::map<Node*, std::size_t> dependencies_;
  std::map<Node*, Gradients> waiting_;
  std::map<Node*, Gradients> passing_;  // parts for a node that passes them on
  std::priority_queue<Ready> ready_;
  std::map<Place, std::size_t> places_;
  std::vector<bool> accumulates_;
  Gradients captured_;
  std::set<Node*> needed_;
};

// checked returns a gradient with the shape of its tensor, in the dtype that the edge's node
// expects.
Tensor checked(const Tensor& gradient, const Edge& edge, const Node& from) {
  if (!gradient.is_defined()) return gradient;
  const TensorType& type = edge.node->output_types()[edge.output];
  std::optional<DType> dtype = edge.node->gradient_dtype(edge.output);
  if (edge.node->takes_any_shape() && gradient.numel() == numel(type.shape)) {
    Tensor shaped = gradient.shape() == type.shape ? gradient : reshape(gradient, type.shape);
    return dtype ? to(shaped, *dtype) : shaped;
  }
  if (gradient.shape() != type.shape)
    raise(ErrorKind::runtime_error, backward_source,
          "Function {} returned an invalid gradient: got {} but expected shape compatible with {}",
          from.name(), to_string(DimSpan(gradient.shape())), to_string(DimSpan(type.shape)));
  return dtype ? to(gradient, *dtype) : gradient;
}

void Traversal::add_root(const Tensor& tensor, const Tensor& gradient) {
  Edge edge = Variable::edge_of(tensor);
  if (std::find(roots_.begin(), roots_.end(), edge.node) == roots_.end())
    roots_.push_back(edge.node);
  if (edge.node->passes_on()) {
    passing_[edge.node.get()].push_back(gradient);
    return;
  }
  Gradients& inputs = waiting_[edge.node.get()];
  inputs.resize(edge.node->output_types().size());
  inputs[edge.output] = added(inputs[edge.output], gradient);
}

void Traversal::capture(const Tensor& input, bool accumulate) {
  Edge edge = Variable::edge_of(input);
  // A leaf that nothing was computed from has no node that outlives this call.
  captured_.emplace_back();
  accumulates_.push_back(accumulate);
  if (edge.node && edge.node->use_count() > 1)
    places_[{edge.node.get(), edge.output}] = captured_.size() - 1;
}

void Traversal::count_dependencies() {
  std::set<Node*> seen;
  std::vector<NodePtr> nodes;
  for (const NodePtr& root : roots_)
    if (seen.insert(root.get()).second) nodes.push_back(root);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Edge& edge : std::vector<Edge>(nodes[i]->edges())) {
      if (!edge.node) continue;
      ++dependencies_[edge.node.get()];
      if (seen.insert(edge.node.get()).second) nodes.push_back(edge.node);
    }
  }
  if (!captured_.empty()) find_needed(nodes);
}

// Finds the nodes that lead to captured places. Each node comes before some of those it leads to,
// so repeating until nothing changes ends; a chain takes one pass backward.
void Traversal::find_needed(const std::vector<NodePtr>& nodes) {
  for (auto& [place, slot] : places_) needed_.insert(place.node);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      if (needed_.count(nodes[i].get()) > 0) continue;
      const auto& edges = nodes[i]->edges();
      if (!std::any_of(edges.begin(), edges.end(),
                       [this](const Edge& e) { return e.node && needed_.count(e.node.get()); }))
        continue;
      needed_.insert(nodes[i].get());
      changed = true;
    }
  }
}

void Traversal::run() {
  GradMode mode(options_.create_graph);
  Ledger::Category category(MemoryCategory::gradient);
  count_dependencies();
  for (const NodePtr& root : roots_)
    if (dependencies_[root.get()] == 0) ready_.push({root->sequence(), root});
  while (!ready_.empty()) {
    NodePtr node = ready_.top().node;
    ready_.pop();
    process(node);
  }
}

// Rounds the gradients of an operation. Otherwise an operation that passes its gradient on
// unchanged, as an addition does, would pass on unrounded parts to an unrounded sum: the parts of a
// partial gradient, and the unrounded sums of a leaf's gradient.
void round_gradients(const Node& node, Gradients& gradients) {
  auto may_go_on = [](const Tensor& one) {
    if (!one.is_defined()) return false;
    const DistributionPtr& pieces = one.distribution();
    return pieces ? pieces->is_partial() || is_unrounded(pieces->local_part()) : is_unrounded(one);
  };
  auto joins_sum = [](const Edge& edge) { return edge.node && edge.node->takes_unrounded(); };
  if (std::none_of(gradients.begin(), gradients.end(), may_go_on) || grad_enabled() ||
      !current_arithmetic().is_exact() || node.takes_unrounded() ||
      std::none_of(node.edges().begin(), node.edges().end(), joins_sum))
    return;
  KeepUnrounded scope(false);
  for (Tensor& gradient : gradients)
    if (may_go_on(gradient))
      gradient = gradient_operands({&gradient, 1}, {attribute::of = "operation"}).front();
}

void Traversal::process(const NodePtr& node) {
  if (node->passes_on()) {
    Gradients parts = std::move(passing_[node.get()]);
    passing_.erase(node.get());
    if (node->pre_hooks().empty() && node->post_hooks().empty() && captured_.empty() &&
        !node->retains())
      return pass_on(node, std::move(parts));
    // A hook or a capture needs the sum.
    KeepUnrounded scope(node->takes_unrounded());
    Tensor& sum = waiting_[node.get()].emplace_back();
    for (const Tensor& part : parts) sum = added(sum, part);
  }
  Gradients gradients = std::move(waiting_[node.get()]);
  waiting_.erase(node.get());
  gradients.resize(node->output_types().size());
  for (auto& hook : std::vector(node->pre_hooks())) hook(gradients);
  node->keep_retained(gradients);
  bool has_edge_needed = places_.empty() && captured_.empty();
  if (!captured_.empty()) {
    for (std::uint32_t output = 0; output < gradients.size(); ++output) {
      auto place = places_.find({node.get(), output});
      if (place == places_.end()) continue;
      captured_[place->second] = gradients[output];
      if (accumulates_[place->second]) has_edge_needed = true;
    }
    for (const Edge& edge : node->edges())
      has_edge_needed |= edge.node && needed_.count(edge.node.get()) > 0;
  }
  if (!has_edge_needed) return;
  BackwardSpan span(node.get());
  round_gradients(*node, gradients);
  Gradients results = node->apply(std::move(gradients));
  for (auto& hook : std::vector(node->post_hooks())) hook(results);
  std::vector<Edge> edges = node->edges();
  if (!options_.retain_graph) node->release();
  results.resize(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i].node) send(edges[i], std::move(results[i]), *node);
}

void Traversal::pass_on(const NodePtr& node, Gradients parts) {
  BackwardSpan span(node.get());
  node->apply({parts.empty() ? Tensor() : parts.front()});
  Edge edge = node->edges().front();
  if (!options_.retain_graph) node->release();
  if (!edge.node) return;
  if (parts.empty()) parts.emplace_back();
  dependencies_[edge.node.get()] += parts.size() - 1;
  for (Tensor& part : parts) send(edge, std::move(part), *node);
}

void Traversal::send(const Edge& edge, Tensor gradient, const Node& from) {
  Node& node = *edge.node;
  if (is_needed(&node)) {
    KeepUnrounded scope(node.takes_unrounded());
    gradient = checked(gradient, edge, from);
    if (node.passes_on()) {
      if (gradient.is_defined()) passing_[&node].push_back(gradient);
    } else {
      Gradients& inputs = waiting_[&node];
      inputs.resize(node.output_types().size());
      inputs[edge.output] = added(inputs[edge.output], gradient);
    }
  }
  if (--dependencies_[&node] == 0 && is_needed(&node)) ready_.push({node.sequence(), edge.node});
}

Tensor root_gradient(const Tensor& tensor, const std::vector<Tensor>& given, std::size_t index) {
  if (!Variable::edge_of(tensor).node)
    raise(ErrorKind::runtime_error, backward_source,
          "element {} of tensors does not require grad and does not have a grad_fn", index);
  if (index < given.size() && given[index].is_defined()) {
    if (given[index].shape() != tensor.shape())
      raise(ErrorKind::runtime_error, backward_source,
            "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}",
            index, to_string(DimSpan(given[index].shape())), index,
            to_string(DimSpan(tensor.shape())));
    return given[index];
  }
  if (tensor.numel() != 1)
    raise(ErrorKind::runtime_error, backward_source,
          "grad can be implicitly created only for scalar outputs, got the shape {}",
          to_string(DimSpan(tensor.shape())));
  if (tensor.distribution()) return ones_like(tensor.detach());
  return full(tensor.shape(), tensor.dtype(), 1.0);
}

}  // namespace

void backward(gsl::span<const Tensor> tensors, const BackwardOptions& options) {
  Traversal traversal({options.retain_graph.value_or(options.create_graph), options.create_graph});
  for (std::size_t i = 0; i < std::size_t(tensors.size()); ++i)
    traversal.add_root(tensors[i], root_gradient(tensors[i], options.gradients, i));
  for (const Tensor& input : options.inputs) {
    Variable* variable = Variable::of(input);
    if (!variable || !variable->is_leaf() || !variable->requires_grad())
      raise(ErrorKind::runtime_error, backward_source,
            "expected inputs that are leaves requiring gradients");
    traversal.capture(input, true);
  }
  PassScope pass;
  traversal.run();
  pass.run_callbacks();
}

std::vector<Tensor> grad(gsl::span<const Tensor> outputs, gsl::span<const Tensor> inputs,
                         const GradOptions& options) {
  Traversal traversal({options.retain_graph.value_or(options.create_graph), options.create_graph});
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i)
    traversal.add_root(outputs[i], root_gradient(outputs[i], options.gradients, i));
  for (const Tensor& input : inputs) {
    if (!input.requires_grad())
      raise(ErrorKind::runtime_error, backward_source,
            "One of the differentiated Tensors does not require grad");
    traversal.capture(input, false);
  }
  PassScope pass;
  traversal.run();
  pass.run_callbacks();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < std::size_t(inputs.size()); ++i) {
    const Tensor& gradient = traversal.captured(i);
    if (!gradient.is_defined() && !options.allow_unused)
      raise(ErrorKind::runtime_error, backward_source,
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused if this is the desired behavior");
    results.push_back(with_own_elements(gradient));
  }
  return results;
}

void queue_callback(std::function<void()> callback) {
  Passes& all = passes();
  if (all.running.empty())
    raise(ErrorKind::runtime_error, "autograd/queue_callback",
          "Final callbacks can only be installed during backward pass");
  all.running.back().callbacks.push_back(std::move(callback));
}

std::optional<std::uint64_t> current_backward() {
  Passes& all = passes();
  if (all.running.empty()) return std::nullopt;
  return all.running.back().number;
}

}  // namespace simmesh
