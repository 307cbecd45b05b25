#include "core/autograd/traversal.h"

#include <algorithm>
#include <utility>

#include "core/arithmetic/unrounded.h"
#include "core/autograd/backward_span.h"
#include "core/autograd/op_node.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

Tensor added(const Tensor& a, const Tensor& b) {
  if (!a.is_defined()) return b;
  return b.is_defined() ? add(a, b) : a;
}

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
    raise(ErrorKind::runtime_error, "autograd/backward",
          "Function {} returned an invalid gradient: got {} but expected shape compatible with {}",
          from.name(), to_string(DimSpan(gradient.shape())), to_string(DimSpan(type.shape)));
  return dtype ? to(gradient, *dtype) : gradient;
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

}  // namespace

void Traversal::add_root(const GradientRoot& root) {
  const auto& [edge, gradient] = root;
  if (std::find(roots_.begin(), roots_.end(), edge.node) == roots_.end())
    roots_.push_back(edge.node);
  State& state = state_of(edge.node);
  if (edge.node->passes_on()) {
    state.passing.push_back(gradient);
    return;
  }
  Gradients& inputs = state.waiting;
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
  if (std::exchange(is_counted_, true)) return;
  std::vector<NodePtr> nodes;
  auto see = [&](const NodePtr& node, State& state) {
    if (!std::exchange(state.is_seen, true)) nodes.push_back(node);
  };
  for (const NodePtr& root : roots_) see(root, state_of(root));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::vector<Edge>& edges = nodes[i]->edges();
    for (const Edge& edge : edges) {
      if (!edge.node) continue;
      State& state = state_of(edge.node);
      ++state.dependencies;
      see(edge.node, state);
    }
  }
  if (!captured_.empty()) find_needed(nodes);
}

// Finds the nodes that lead to captured places. Each node comes before some of those it leads to,
// so repeating until nothing changes ends; a chain takes one pass backward.
void Traversal::find_needed(const std::vector<NodePtr>& nodes) {
  for (auto& [place, slot] : places_) states_[place.node].leads_to_capture = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      State& state = state_of(nodes[i]);
      if (state.leads_to_capture) continue;
      const auto& edges = nodes[i]->edges();
      state.leads_to_capture = std::any_of(
          edges.begin(), edges.end(), [this](const Edge& edge) { return leads_to_capture(edge); });
      changed |= state.leads_to_capture;
    }
  }
}

void Traversal::run() {
  GradMode mode(options_.create_graph);
  Ledger::Category category(MemoryCategory::gradient);
  count_dependencies();
  start();
}

void Traversal::run_rest() {
  GradMode mode(options_.create_graph);
  Ledger::Category category(MemoryCategory::gradient);
  count_dependencies();
  runs_rest_ = true;
  for (const NodePtr& node : with_rest_) ready_.push({node->sequence(), node});
  with_rest_.clear();
  start();
}

// Runs all that is ready, from the roots on.
void Traversal::start() {
  for (const NodePtr& root : roots_) {
    const State& state = state_of(root);
    if (state.dependencies == 0 && is_needed(state)) ready_.push({root->sequence(), root});
  }
  while (!ready_.empty()) {
    NodePtr node = ready_.top().node;
    ready_.pop();
    process(node);
  }
}

// A hook or a capture needs the sum of the parts that a node passes on.
bool Traversal::sums_parts(Node& node) const {
  if (!node.pre_hooks().empty() || !node.post_hooks().empty() || node.retains()) return true;
  if (!options_.is_split) return !captured_.empty();
  return is_end(node);
}

void Traversal::process(const NodePtr& node) {
  State& state = state_of(node);
  if (state.has_rest) return apply_rest(node);
  Gradients gradients = std::exchange(state.waiting, {});
  if (node->passes_on()) {
    Gradients parts = std::exchange(state.passing, {});
    if (!sums_parts(*node)) return pass_on(node, std::move(parts));
    KeepUnrounded scope(node->takes_unrounded());
    Tensor& sum = gradients.emplace_back();
    for (const Tensor& part : parts) sum = added(sum, part);
  }
  gradients.resize(node->output_types().size());
  for (auto& hook : std::vector(node->pre_hooks())) hook(gradients);
  node->keep_retained(gradients);
  bool has_edge_needed = (places_.empty() && captured_.empty()) || runs_rest_;
  if (!captured_.empty() && !runs_rest_) {
    for (std::uint32_t output = 0; output < gradients.size(); ++output) {
      auto place = places_.find({node.get(), output});
      if (place == places_.end()) continue;
      captured_[place->second] = gradients[output];
      if (accumulates_[place->second]) has_edge_needed = true;
    }
    for (const Edge& edge : node->edges()) has_edge_needed |= leads_to_capture(edge);
  }
  bool may_have_rest = options_.is_split && !runs_rest_;
  if (!has_edge_needed && !may_have_rest) return;
  BackwardSpan span(node.get());
  round_gradients(*node, gradients);
  may_have_rest ? apply_needed(node, std::move(gradients)) : apply(node, std::move(gradients));
}

void Traversal::apply(const NodePtr& node, Gradients gradients) {
  Gradients results = node->apply(std::move(gradients));
  for (auto& hook : std::vector(node->post_hooks())) hook(results);
  if (!options_.retain_graph) node->release();
  send_results(*node, std::move(results), {});
}

// True if a gradient was captured at the node, so that a split pass ends there.
bool Traversal::is_end(Node& node) const {
  auto place = places_.lower_bound({&node, 0});
  return place != places_.end() && place->first.node == &node;
}

// Sends along the edges that lead to captured places, and keeps the rest for later. An op computes
// only these gradients now; other nodes run once.
void Traversal::apply_needed(const NodePtr& node, Gradients gradients) {
  const std::vector<Edge>& edges = node->edges();
  Mask wanted(edges.size(), false);
  bool has_needed = false, has_rest = false;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i].node) continue;
    wanted[i] = leads_to_capture(edges[i]);
    (wanted[i] ? has_needed : has_rest) = true;
  }
  if (is_end(*node) && !has_needed) return node->release();
  if (has_rest) with_rest_.push_back(node);
  auto* op = dynamic_cast<OpNode*>(node.get());
  State& state = state_of(node);
  state.has_rest = has_rest;
  if (has_rest && (op != nullptr || !has_needed)) state.rest.gradients = gradients;
  if (!has_needed) return;
  Gradients results = op != nullptr ? op->apply_for(std::move(gradients), wanted)
                                    : node->apply(std::move(gradients));
  for (auto& hook : std::vector(node->post_hooks())) hook(results);
  if (has_rest && op == nullptr) state_of(node).rest = {{}, results, true};
  if (!has_rest) node->release();
  send_results(*node, std::move(results), wanted);
}

void Traversal::apply_rest(const NodePtr& node) {
  State& state = state_of(node);
  Rest rest = std::exchange(state.rest, {});
  state.has_rest = false;
  const std::vector<Edge>& edges = node->edges();
  Mask wanted(edges.size(), false);
  for (std::size_t i = 0; i < edges.size(); ++i)
    wanted[i] = edges[i].node && !leads_to_capture(edges[i]);
  BackwardSpan span(node.get());
  if (!rest.has_results) {
    auto* op = dynamic_cast<OpNode*>(node.get());
    rest.results = op != nullptr ? op->apply_for(std::move(rest.gradients), wanted)
                                 : node->apply(std::move(rest.gradients));
  }
  node->release();
  send_results(*node, std::move(rest.results), wanted);
}

void Traversal::send_results(const Node& node, Gradients results, const Mask& wanted) {
  const std::vector<Edge>& edges = node.edges();
  results.resize(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (edges[i].node && (wanted.empty() || wanted[i])) send(edges[i], std::move(results[i]), node);
}

void Traversal::pass_on(const NodePtr& node, Gradients parts) {
  BackwardSpan span(node.get());
  node->apply({parts.empty() ? Tensor() : parts.front()});
  Edge edge = node->edges().front();
  if (!options_.retain_graph) node->release();
  if (!edge.node) return;
  if (parts.empty()) parts.emplace_back();
  state_of(edge.node).dependencies += parts.size() - 1;
  for (Tensor& part : parts) send(edge, std::move(part), *node);
}

void Traversal::send(const Edge& edge, Tensor gradient, const Node& from) {
  Node& node = *edge.node;
  State& state = state_of(edge.node);
  bool is_needed = this->is_needed(state);
  if (is_needed) {
    KeepUnrounded scope(node.takes_unrounded());
    gradient = checked(gradient, edge, from);
    if (node.passes_on()) {
      if (gradient.is_defined()) state.passing.push_back(gradient);
    } else {
      Gradients& inputs = state.waiting;
      inputs.resize(node.output_types().size());
      inputs[edge.output] = added(inputs[edge.output], gradient);
    }
  }
  if (--state.dependencies == 0 && is_needed) ready_.push({node.sequence(), edge.node});
}

}  // namespace simmesh
