#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/memory/owner_count.h"
#include "core/ops/op.h"

namespace simmesh {

class Node;
using NodePtr = boost::intrusive_ptr<Node>;

// Edge leads from a node to the node that takes the gradient of one of its inputs, and says which
// of that node's outputs the input was.
struct Edge {
  NodePtr node;
  std::uint32_t output = 0;
};

// Node is one entry of the tape: it turns the gradients of an operation's outputs into those of its
// inputs. In a backward pass the node made last runs first among those that are ready, as in
// PyTorch; a leaf's node runs before all others.
class Node : public boost::intrusive_ref_counter<Node, OwnerCount> {
 public:
  static constexpr std::uint64_t first = std::numeric_limits<std::uint64_t>::max();

  // PreHook may replace the gradients that reach the node; PostHook sees the node's results.
  using PreHook = std::function<void(Gradients& gradients)>;
  using PostHook = std::function<void(const Gradients& results)>;

  explicit Node(std::uint64_t sequence) : sequence_(sequence) {}
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string name() const = 0;
  // apply returns one gradient an edge.
  virtual Gradients apply(Gradients gradients) = 0;
  // takes_unrounded says whether the gradients that reach the node are added unrounded (see
  // KeepUnrounded), because they are parts of larger sums: those of leaves, and of nodes that only
  // move elements of leaves.
  virtual bool takes_unrounded() const { return false; }
  // passes_on says that the node, of one output and one input, changes no gradient: in a backward
  // pass the parts that reach it are passed on one by one, in the order in which they came, so that
  // sums are the same as without the node.
  virtual bool passes_on() const { return false; }
  // takes_any_shape says that a gradient may have another shape of as many elements than the
  // output: it is reshaped.
  virtual bool takes_any_shape() const { return false; }
  // release drops what the node saved; it can't be applied again.
  virtual void release() {}

  std::uint64_t sequence() const { return sequence_; }
  const std::vector<Edge>& edges() const { return edges_; }
  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }
  // output_types are the types of the gradients that reach the node.
  const TensorTypes& output_types() const { return output_types_; }
  // gradient_dtype is the dtype to which a gradient of an output is converted when it reaches the
  // node, before it is added to others; empty where it stays as it is.
  virtual std::optional<DType> gradient_dtype(std::uint32_t output) const {
    return output_types_[output].dtype;
  }
  void add_output(TensorType type) { output_types_.push_back(std::move(type)); }

  std::vector<PreHook>& pre_hooks() { return pre_hooks_; }
  std::vector<PostHook>& post_hooks() { return post_hooks_; }
  // retain keeps the gradient of an output there in each pass, after the hooks that come before the
  // node; null for nowhere. keep_retained does that.
  void retain(std::uint32_t output, std::shared_ptr<Tensor> place);
  void keep_retained(const Gradients& gradients) const;
  bool retains() const { return !retained_.empty(); }

 private:
  std::uint64_t sequence_;
  std::vector<Edge> edges_;
  TensorTypes output_types_;
  std::vector<PreHook> pre_hooks_;
  std::vector<PostHook> post_hooks_;
  std::vector<std::shared_ptr<Tensor>> retained_;  // by output; empty where none is
};

// next_sequence numbers the nodes of this rank.
std::uint64_t next_sequence();

}  // namespace simmesh
