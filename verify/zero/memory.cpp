#include <algorithm>

#include "verify/case_kind.h"
#include "verify/zero/schedule_replay.h"

namespace simmesh {

namespace {

Schema zero_memory_schema() {
  using namespace schema;
  Schema bytes = integer({.min = 0});
  return object({required("meta", schedule_meta_schema({expected("peak", list(bytes)),
                                                        expected("peak_forward", list(bytes)),
                                                        expected("model_bytes", bytes)})),
                 expected("ev", schedule_events_schema(true))});
}

// Peaks are the largest samples of each iteration, in all of it and before its first backward.
struct Peaks {
  std::vector<std::int64_t> all, forward;

  explicit Peaks(const ScheduleEvents& events) {
    bool in_forward = true;
    for (const nlohmann::json& event : events) {
      if (event[0] == "ITER") {
        all.push_back(0);
        forward.push_back(0);
        in_forward = true;
      }
      if (event[0] == "fetch_begin" && event[3] == "B") in_forward = false;
      if ((event[0] != "mem" && event[0] != "mem_wait") || all.empty()) continue;
      std::int64_t bytes = event[1];
      all.back() = std::max(all.back(), bytes);
      if (in_forward) forward.back() = std::max(forward.back(), bytes);
    }
  }
};

void verify_zero_memory(const RecordedCase& recorded, const VerifyOptions& options,
                        CaseReport& report) {
  ScheduleReplay replay(recorded, true);
  CaseField meta = recorded["meta"];
  ScheduleCase schedule = read_schedule(meta);
  std::int64_t numel = 0;
  for (const ScheduleCase::Param& param : schedule.params) numel += param.numel;
  report.expect_equal("model_bytes", meta["model_bytes"].integer(),
                      numel * std::int64_t(bytes_per_element(schedule.dtype)));
  replay.run(options, report);
  if (report.failed()) return;
  for (std::size_t rank = 0; rank < replay.ranks(); ++rank) {
    Peaks peaks(replay.of(rank));
    std::string who = fmt::format("rank {}: ", rank);
    report.expect_equal(who + "peak", meta["peak"].integers(), peaks.all);
    report.expect_equal(who + "peak_forward", meta["peak_forward"].integers(), peaks.forward);
  }
}

const CaseKind zero_memory_kind(
    {.name = "zero_memory",
     .summary = "as zero_schedule, and the bytes of gathered data after each event",
     .schema = zero_memory_schema,
     .verifier = verify_zero_memory});

}  // namespace

}  // namespace simmesh
