#include "core/autograd/backward_span.h"

#include "core/engine/ranks/observer_scope.h"

namespace simmesh {

void BackwardSpan::begin() {
  is_told_ = true;
  ObserverScope<BackwardSpanEvent>::emit({node_, false});
}

void BackwardSpan::end() { ObserverScope<BackwardSpanEvent>::emit({node_, true}); }

}  // namespace simmesh
