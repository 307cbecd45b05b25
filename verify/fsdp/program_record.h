#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "verify/collective_tally.h"
#include "verify/fsdp/record.h"
#include "verify/verify_options.h"

namespace simmesh {

// StepRecord is the record of one step of a program on one rank: the answers of fully_shard, and
// the engine's counts.
struct StepRecord {
  std::vector<fsdp::EventFields> events;
  CollectiveTally tally;

  bool operator==(const StepRecord&) const = default;
};
using RankRecord = std::vector<StepRecord>;

// record_program runs the program of a case and returns the record of each rank; empty after an
// error, which is a mismatch.
std::vector<RankRecord> record_program(const RecordedCase& recorded, const VerifyOptions& options,
                                       CaseReport& report);

// recorded_ranks compares the field ranks_agree. Returns the number of ranks that a case records:
// its data are rank 0's, and those of all others where they agree.
std::size_t recorded_ranks(CaseReport& report, const RecordedCase& recorded,
                           const std::vector<RankRecord>& of_rank);

// totals_schema is the number of collectives of a program; expect_totals compares it.
Schema totals_schema();
void expect_totals(CaseReport& report, const std::string& what, const CaseField& expected,
                   const RankRecord& steps);

}  // namespace simmesh
