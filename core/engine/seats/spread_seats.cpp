#include "core/engine/seats/spread_seats.h"

#include "core/memory/data_mode.h"

namespace simmesh {

void SpreadSeats::suspend(Seat& seat) {
  bool is_ghost = DataMode::shapes_only();
  FiberSeats::suspend(seat);
  DataMode::set_shapes_only(is_ghost);
}

}  // namespace simmesh
