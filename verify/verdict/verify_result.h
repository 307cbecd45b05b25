#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/shards/shard_results.h"
#include "verify/verdict/case_result.h"

namespace simmesh {

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

  // add takes the result of the next case.
  void add(const CaseResult& one);

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

// united_result returns what one run of all cases has, from the results that the shards kept.
// Raises a ValueError where the result of a case is missing.
VerifyResult united_result(const ShardResults& all);

// to_text returns the result as the command prints it: a FAIL block for each case that failed,
// counts, and as last line "N passed, N failed"; quiet: only that line.
struct TextOptions {
  bool quiet = false;
};
std::string to_text(const VerifyResult& result, TextOptions options = {});

// to_json returns the same content as one line of JSON.
std::string to_json(const VerifyResult& result);

}  // namespace simmesh
