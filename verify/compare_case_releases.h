#pragma once

#include <string>

#include "core/engine/reports/run_progress.h"
#include "core/release/release_comparison.h"
#include "verify/verify_options.h"

namespace simmesh {

// is_case_path is true if a path names recorded cases: a file in JSON or JSON lines, or a folder.
bool is_case_path(const std::string& path);

// CaseReleasesRequest selects the cases to run, and how they run.
struct CaseReleasesRequest {
  std::string path;
  VerifyOptions options;  // its release is left out
  // Cases that run side by side, each on a thread of its own. Changes no result.
  std::size_t jobs = 1;
  GoesOn goes_on = nullptr;
};

// compare_case_releases runs recorded cases under every release, whatever their source names. A
// case differs if its mismatches do: cases of a user's model that were recorded under one release
// tell what an upgrade changes for it. Raises as verify does.
ReleaseComparison compare_case_releases(const CaseReleasesRequest& request);

}  // namespace simmesh
