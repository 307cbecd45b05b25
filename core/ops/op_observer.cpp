#include <simmesh/core/engine/local_state.h>
#include <simmesh/core/ops/op_observer.h>

namespace simmesh {

namespace {

struct Innermost {
  const OpObserver::Observe* observe = nullptr;
};

Innermost& innermost() { return local_state<Innermost>(); }

}  // namespace

OpObserver::OpObserver(Observe observe)
    : observe_(std::move(observe)), outer_(innermost().observe) {
  innermost().observe = &observe_;
}

OpObserver::~OpObserver() { innermost().observe = outer_; }

const OpObserver::Observe* OpObserver::active() { return innermost().observe; }

}  // namespace simmesh
