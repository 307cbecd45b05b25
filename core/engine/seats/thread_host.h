#pragma once

#include <chrono>
#include <pthread.h>
#include <string>

#include "core/check/error.h"
#include "core/engine/schedules/schedule.h"

namespace simmesh {

class ReportedRun;

// ThreadHost is the program in which ranks are threads, such as a Python interpreter. It is a
// virtual seam because only the host knows who asks it to stop, and what its own threads are doing.
class ThreadHost {
 public:
  virtual ~ThreadHost() = default;

  enum class Verdict {
    go_on,
    interrupt,  // the run ends when its rank gives up its turn, as a failed one
    give_up,    // World::run raises a RunGivenUp at once
  };
  // Turn has the rank that runs, its thread, and the time for which it has kept its turn without a
  // heartbeat, in wall time in which the process ran.
  struct Turn {
    RankId rank;
    pthread_t thread;
    std::chrono::duration<double> kept_for;
    const ReportedRun& run;
  };

  // look is asked several times a second, on the thread that called World::run, while ranks run.
  virtual Verdict look(const Turn& turn) = 0;

  // reproduce_line returns the last line of a report: "reproduce: simmesh.spmd_run(f)". Empty where
  // the World's own options say it.
  virtual std::string reproduce_line() const { return {}; }
};

// RunGivenUp says that a rank never gave up its turn. Its thread, and those of the other ranks,
// stay as they are until the process ends, so the World must not be destroyed.
class RunGivenUp : public Error {
 public:
  using Error::Error;
};

}  // namespace simmesh
