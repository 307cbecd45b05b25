#pragma once

#include "core/engine/reports/interrupt.h"
#include "core/engine/reports/run_progress.h"
#include "tools/progress.h"
#include "tools/run_options.h"

namespace simmesh {

// WatchedRun is for a command that makes many runs: it shows its progress on standard error, unless
// that isn't a terminal or the output is for programs, and makes Ctrl-C end it early.
//
//   WatchedRun watched(output);
//   request.goes_on = watched.goes_on();
//   auto result = verify(request);
//   watched.end(result.interrupted);
class WatchedRun {
 public:
  explicit WatchedRun(const OutputOptions& output)
      : line_(output.json || output.quiet ? Terminal() : terminal_of(stderr)) {
    Interrupt::on_sigint();
  }

  GoesOn goes_on() {
    return [this](const RunProgress& progress) {
      line_.show(progress);
      return !Interrupt::requested();
    };
  }

  // end erases the progress, and says so if the command was interrupted.
  void end(bool interrupted) {
    line_.erase();
    if (interrupted) std::fputs("simmesh: interrupted\n", stderr);
  }

 private:
  ProgressLine line_;
};

}  // namespace simmesh
