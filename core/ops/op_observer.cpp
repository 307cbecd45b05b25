#include <simmesh/core/engine/rank.h>
#include <simmesh/core/ops/op_observer.h>

namespace simmesh {

namespace {

struct Innermost {
  const OpObserver::Observe* observe = nullptr;
};

thread_local Innermost outside_innermost;

Innermost& innermost() { return in_rank() ? this_rank().state<Innermost>() : outside_innermost; }

}  // namespace

OpObserver::OpObserver(Observe observe)
    : observe_(std::move(observe)), outer_(innermost().observe) {
  innermost().observe = &observe_;
}

OpObserver::~OpObserver() { innermost().observe = outer_; }

const OpObserver::Observe* OpObserver::active() { return innermost().observe; }

}  // namespace simmesh
