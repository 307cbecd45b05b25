#include "core/autograd/node.h"

#include <utility>

#include "core/engine/ranks/local_state.h"

namespace simmesh {

namespace {

struct Sequence {
  std::uint64_t next = 0;
};

}  // namespace

std::uint64_t next_sequence() {
  Sequence& sequence = local_state<Sequence>();
  return sequence.next++;
}

void Node::retain(std::uint32_t output, std::shared_ptr<Tensor> place) {
  retained_.resize(output_types_.size());
  retained_[output] = std::move(place);
}

void Node::keep_retained(const Gradients& gradients) const {
  for (std::size_t output = 0; output < retained_.size(); ++output)
    if (retained_[output] && gradients[output].is_defined()) *retained_[output] = gradients[output];
}

// A long chain of nodes must not be destroyed by recursion: a rank's stack is small.
Node::~Node() {
  std::vector<NodePtr> orphans;
  auto take = [&orphans](std::vector<Edge>& edges) {
    for (Edge& edge : edges)
      if (edge.node && edge.node->use_count() == 1) orphans.push_back(std::move(edge.node));
  };
  take(edges_);
  while (!orphans.empty()) {
    NodePtr orphan = std::move(orphans.back());
    orphans.pop_back();
    orphan->release();
    take(orphan->edges_);
  }
}

}  // namespace simmesh
