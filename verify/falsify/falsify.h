#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "verify/case_filter.h"
#include "verify/falsify/case_changes.h"
#include "verify/verify_options.h"

namespace simmesh {

// FalsifyRequest is the request of `simmesh falsify`.
struct FalsifyRequest {
  std::vector<std::string> paths;
  CaseFilter filter;
  std::string at;  // only changes at this place: a JSON pointer; empty: all
  // At most so many cases of each kind, evenly spread.
  std::size_t cases_per_kind = std::numeric_limits<std::size_t>::max();
  ChangeSample sample = {};  // of each case, drawn by the seed of the options
  VerifyOptions options;
  std::size_t jobs = 1;  // cases side by side; changes no result
  GoesOn goes_on = nullptr;
};

// LetThrough is a changed case that passes although nothing excuses it, or that breaks a contract
// of simmesh.
struct LetThrough {
  std::string id, kind, at, change;
  std::string defect;     // the broken contract; empty where the case passes
  std::string reproduce;  // command line
};

// FalsifyResult is the result of a request. It depends on the request and the files only.
struct FalsifyResult {
  // Excused is a change that may pass, by kind, path pattern, name and reason.
  struct Excused {
    std::string kind, pattern, change, reason;
    auto operator<=>(const Excused&) const = default;
  };

  std::int64_t cases = 0;    // that pass unchanged
  std::int64_t skipped = 0;  // that don't
  std::int64_t changes = 0, failed = 0, refused = 0, excused = 0;
  std::map<Excused, std::int64_t> excused_by_place;
  std::vector<LetThrough> let_through;
  bool interrupted = false;

  bool ok() const { return let_through.empty(); }
};

// falsify changes each place of each passing case in every way that the schema of its kind knows
// (case_changes), runs the changed case, and tells what still passes. Raises as verify does.
FalsifyResult falsify(const FalsifyRequest& request);

// to_text returns the result as the command prints it, with "N changes: N failed, N refused, N may
// pass, N let through" as last line. quiet: only that line. to_json has the same as one line.
struct FalsifyTextOptions {
  bool quiet = false;
};
std::string to_text(const FalsifyResult& result, const FalsifyTextOptions& options = {});
std::string to_json(const FalsifyResult& result);

}  // namespace simmesh
