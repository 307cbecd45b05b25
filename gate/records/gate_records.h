#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "core/engine/reports/outcome.h"
#include "core/engine/schedules/schedule.h"
#include "gate/records/run_recorder.h"

namespace simmesh {

// GateRecords is what a report shows of a gate beside its results. It is only filled where a report
// was asked for.
struct GateRecords {
  // TriedSchedule is a run under another schedule, and the first step at which it chose another
  // rank than the first run did; -1 if it chose the same ranks.
  struct TriedSchedule {
    std::string name;
    std::uint64_t steps = 0;
    std::uint64_t schedule_hash = 0;
    std::string ending;  // "data hash 0123456789abcdef", or the failure
    std::int64_t differs_at = -1;
    RankId chosen = 0;
    RankId chosen_first = 0;
  };
  // Calls is what the ranks called of one collective; bytes are those of a rank's operands.
  struct Calls {
    std::string name;
    std::uint64_t least_calls = 0, most_calls = 0;
    std::uint64_t least_bytes = 0, most_bytes = 0;
  };

  RecordLimits limits = {};
  JsonValue::List sections = {};  // of the run: those of RunRecorder
  std::vector<TriedSchedule> schedules = {};
  std::uint64_t schedules_in_all = 0;
  std::vector<Calls> collectives = {};

  // try_schedule keeps a run beside the first one. Later ones are only counted.
  void try_schedule(const std::string& name, const Outcome& first, const Outcome& other,
                    const std::string& ending);
};

}  // namespace simmesh
