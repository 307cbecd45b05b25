#include "collectives/comm_event.h"

#include "core/engine/ranks/observer_scope.h"

namespace simmesh {

void tell(const CommEvent& event) { ObserverScope<CommEvent>::emit(event); }

}  // namespace simmesh
