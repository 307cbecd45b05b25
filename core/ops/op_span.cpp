#include "core/ops/op_span.h"

#include <utility>

#include "core/engine/ranks/observer_scope.h"

namespace simmesh {

void OpSpan::begin(const OpCall& call) {
  call_ = &call;
  ObserverScope<OpSpanEvent>::emit({call, false, {}});
}

void OpSpan::tell_end(gsl::span<const Tensor> results) {
  const OpCall& call = *std::exchange(call_, nullptr);
  ObserverScope<OpSpanEvent>::emit({call, true, results});
}

}  // namespace simmesh
