#pragma once

#include <vector>

#include "verify/case_report.h"
#include "verify/verify_options.h"
#include "verify/zero/schedule_case.h"
#include "verify/zero/schedule_program.h"

namespace simmesh {

// schedule_events_schema is the schema of the field ev; with memory also of the events of bytes.
Schema schedule_events_schema(bool has_memory);

// ScheduleReplay runs stage 3 on every rank of a world, driven by the driving events of a recorded
// schedule, with parameters of small sizes that are really gathered, and keeps the events.
class ScheduleReplay {
 public:
  ScheduleReplay(const RecordedCase& recorded, bool has_memory);

  // run runs the world and compares all ranks. Without a mismatch of[rank] has each rank's events.
  void run(const VerifyOptions& options, CaseReport& report);
  const ScheduleEvents& of(std::size_t rank) const { return of_rank_[rank]; }
  std::size_t ranks() const { return of_rank_.size(); }

 private:
  void drive(std::size_t rank);

  ScheduleCase schedule_;
  bool has_memory_;
  ScheduleEvents expected_;
  std::vector<ScheduleEvents> of_rank_;
  std::vector<std::vector<std::string>> wrong_;  // by rank, in words
};

}  // namespace simmesh
