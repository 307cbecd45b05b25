#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "verify/case_filter.h"
#include "verify/case_report.h"
#include "verify/recorded_case.h"
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
};

// FailedCase is a case that did not hold.
struct FailedCase {
  std::string id;
  CasePlace place;
  std::vector<std::string> mismatches;  // the first few
  std::int64_t mismatch_count = 0;
  std::string reproduce;  // command line
};

// CheaperCase is a case that holds by a cheaper plan than the recorded one; `plans` names both.
struct CheaperCase {
  std::string id;
  std::string plans;
};

// VerifyResult is the result of a request. It depends on the request and the files only.
struct VerifyResult {
  // Count is how many cases held and how many didn't.
  struct Count {
    std::int64_t passed = 0;
    std::int64_t failed = 0;
  };

  Count total;
  std::map<std::string, Count> by_kind;
  std::int64_t disputed_left_out = 0;
  std::vector<FailedCase> failures;
  std::vector<CheaperCase> cheaper;  // of those that passed
  std::int64_t beyond = 0;           // of those that passed: a result where a refusal is recorded
  std::optional<std::uint64_t> data_hash;  // over all cases in order
  std::optional<std::uint64_t> schedule_hash;
  bool interrupted = false;  // by VerifyRequest::goes_on; the rest is the result until then

  bool ok() const { return total.failed == 0; }
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

// to_text returns the result as the command prints it: a FAIL block for each case that failed,
// counts, and as last line "N passed, N failed"; quiet: only that line.
struct TextOptions {
  bool quiet = false;
};
std::string to_text(const VerifyResult& result, TextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(const VerifyResult& result);

}  // namespace simmesh
