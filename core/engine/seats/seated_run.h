#pragma once

#include <vector>

#include "core/engine/options/world_options.h"
#include "core/engine/reports/reported_run.h"
#include "core/engine/seats/seat.h"
#include "core/engine/seats/turns.h"

namespace simmesh {

// SeatedRun is a run as its Seats see it. It is a virtual seam because seats are below the run.
class SeatedRun : public ReportedRun {
 public:
  virtual const WorldOptions& options() const = 0;

  // seats returns the seats of all ranks and deputies, by number. They stay where they are.
  virtual std::vector<Seat>& seats() = 0;
  virtual Turns& turns() = 0;

  // run_body runs the body of a rank, or does the work of a deputy, until that has ended. It is
  // called on the seat's own fiber or thread, and raises nothing.
  virtual void run_body(Seat& seat) = 0;

  // settle is called when no rank can run. It returns true if all have ended; otherwise it has made
  // some runnable.
  virtual bool settle() = 0;

  // interrupt ends the run when its rank gives up its turn. Any thread may call it.
  virtual void interrupt() = 0;
};

}  // namespace simmesh
