#include "core/ops/op_observer.h"

#include "core/engine/ranks/local_state.h"

namespace simmesh {

namespace {

struct InnermostObserver {
  const OpObserver::Observe* observe = nullptr;
};

InnermostObserver& innermost_observer() { return local_state<InnermostObserver>(); }

}  // namespace

OpObserver::OpObserver(Observe observe)
    : observe_(std::move(observe)), outer_(innermost_observer().observe) {
  innermost_observer().observe = &observe_;
}

OpObserver::~OpObserver() { innermost_observer().observe = outer_; }

const OpObserver::Observe* OpObserver::active() { return innermost_observer().observe; }

}  // namespace simmesh
