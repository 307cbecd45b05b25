#include "core/engine/seats/turn_processor.h"

namespace simmesh {

TurnProcessor::TurnProcessor()
    : is_known_(pthread_getaffinity_np(pthread_self(), sizeof allowed_, &allowed_) == 0),
      has_choice_(is_known_ && CPU_COUNT(&allowed_) > 1) {}

void TurnProcessor::hold(pthread_t thread) const {
  int processor = is_known_ ? sched_getcpu() : -1;
  if (processor < 0) return;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  pthread_setaffinity_np(thread, sizeof only, &only);
}

void TurnProcessor::let_go() const {
  if (has_choice_) pthread_setaffinity_np(pthread_self(), sizeof allowed_, &allowed_);
}

}  // namespace simmesh
