#pragma once

#include "core/autograd/node.h"
#include "core/engine/ranks/watch.h"

namespace simmesh {

// BackwardSpanEvent says that a rank began or ended a backward pass, or one node of the tape in it
// with its hooks.
struct BackwardSpanEvent {
  const Node* node;  // null for the pass
  bool has_ended;
};

// BackwardSpan tells those who watch the rank (see Watch) of a backward pass, or of a node in it.
class BackwardSpan {
 public:
  explicit BackwardSpan(const Node* node = nullptr) : node_(node) {
    if (Watch::is_on()) [[unlikely]]
      begin();
  }
  ~BackwardSpan() {
    if (is_told_) [[unlikely]]
      end();
  }
  BackwardSpan(const BackwardSpan&) = delete;
  BackwardSpan& operator=(const BackwardSpan&) = delete;

 private:
  void begin();
  void end();

  const Node* node_;
  bool is_told_ = false;
};

}  // namespace simmesh
