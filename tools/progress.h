#pragma once

#include <string>

#include "core/engine/reports/run_progress.h"
#include "tools/terminal.h"

namespace simmesh {

// ProgressLine draws the progress of a command on one line of a terminal, which it redraws in place
// at most ten times a second:
//
//   1200 of 10000 schedules, 410/s, 22 s left
//
// erase, or the end of its life, leaves the line empty. Without a terminal it does nothing.
class ProgressLine {
 public:
  explicit ProgressLine(Terminal terminal);
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const RunProgress& progress);
  void erase();

 private:
  std::string text_of(const RunProgress& progress, double seconds) const;

  Terminal terminal_;
  std::string what_;
  double began_ = 0;  // the work that what_ names
  double drawn_ = 0;  // when the line was last drawn, or the work began
  std::size_t width_ = 0;
};

}  // namespace simmesh
