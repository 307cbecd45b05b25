#include "verify/case_kind.h"
#include "verify/zero/schedule_replay.h"

namespace simmesh {

namespace {

Schema zero_schedule_schema() {
  using namespace schema;
  return object(
      {required("meta", schedule_meta_schema({})), expected("ev", schedule_events_schema(false))});
}

void verify_zero_schedule(const RecordedCase& recorded, const VerifyOptions& options,
                          CaseReport& report) {
  ScheduleReplay(recorded, false).run(options, report);
}

const CaseKind zero_schedule_kind(
    {.name = "zero_schedule",
     .summary = "what stage 3 fetched, prefetched and released, its counters and collectives, "
                "event for event, on every rank",
     .schema = zero_schedule_schema,
     .verifier = verify_zero_schedule});

}  // namespace

}  // namespace simmesh
