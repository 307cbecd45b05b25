#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "core/shards/shard_results.h"
#include "verify/case_filter.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
#include "verify/verdict/verify_result.h"
#include "verify/verify_options.h"

namespace simmesh {

// VerifyRequest is the request of `simmesh verify`.
struct VerifyRequest {
  std::vector<std::string> paths;
  CaseFilter filter;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  // at most so many cases
  bool fail_fast = false;                                         // stop after the first failure
  VerifyOptions options;
  // Cases that run side by side, each on a thread of its own. Changes no result.
  std::size_t jobs = 1;
  GoesOn goes_on = nullptr;
  // The shard whose cases run, and what gets their results; null for none. It then has the number
  // of all cases and a hash of their texts, too.
  JobShard shard = {};
  // Hands out the numbers of cases, of which there are `count`, instead of a shard: each call
  // returns a higher one, and count or more when none is left.
  std::function<std::uint64_t(std::uint64_t count)> next_job = nullptr;
  ShardResults* keeps = nullptr;
  // Is called with the result of each case, in order, if it isn't null.
  std::function<void(const CaseResult&)> takes = nullptr;
};

// verify runs the chosen cases. Raises an Error (a BadCase where a file is at fault) before or
// between cases where input can't be read, and where an id is given that no case has; then there is
// no result. A trace file gets the last
// world of a case, so it is refused unless one case is chosen. A case in which simmesh breaks a
// contract of its own fails.
VerifyResult verify(const VerifyRequest& request);

// verify_case runs one case and returns what it got wrong. A kind or a field that isn't known is a
// mismatch, and so is an Error that the case doesn't expect. A contract that simmesh itself broke
// is none: raises the ContractViolation.
CaseReport verify_case(const RecordedCase& recorded, const VerifyOptions& options);

}  // namespace simmesh
