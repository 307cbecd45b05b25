#include "core/engine/seats/lane.h"

#include "core/clock/clock.h"

namespace simmesh {

void make_active(Rank* rank) {
  Rank::set_active(rank);
  Ledger::set_active(rank ? &rank->ledger() : nullptr);
  Clock::set_active(rank ? rank->clock() : nullptr);
}

void Lane::arrived(Seat& seat) {
  seat.identity.arrive();
  current_has_ended = false;
  make_active(&seat.rank);
}

}  // namespace simmesh
