#pragma once

#include <gsl/span>

#include "core/engine/ranks/watch.h"
#include "core/ops/op.h"

namespace simmesh {

// OpSpanEvent says that a rank began or ended a call of an op: on plain tensors or distributed
// ones, forward or backward. Calls that the op itself makes come between the two.
struct OpSpanEvent {
  const OpCall& call;
  bool has_ended;
  // At the end, the tensors written or returned; empty where the call raised.
  gsl::span<const Tensor> results;
};

// OpSpan tells those who watch the rank (see Watch) of a call, from its construction to its end.
class OpSpan {
 public:
  explicit OpSpan(const OpCall& call) {
    if (Watch::is_on()) [[unlikely]]
      begin(call);
  }
  void end(gsl::span<const Tensor> results) {
    if (call_) [[unlikely]]
      tell_end(results);
  }
  ~OpSpan() {
    if (call_) [[unlikely]]
      tell_end({});
  }
  OpSpan(const OpSpan&) = delete;
  OpSpan& operator=(const OpSpan&) = delete;

 private:
  void begin(const OpCall& call);
  void tell_end(gsl::span<const Tensor> results);

  const OpCall* call_ = nullptr;  // null where nobody watches, and after the end
};

}  // namespace simmesh
