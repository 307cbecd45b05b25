#include "verify/compare_case_releases.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "core/engine/ordered_jobs.h"
#include "verify/case_files.h"
#include "verify/verify.h"

namespace simmesh {

namespace {

using Verdicts = std::array<std::string, releases.size()>;

std::string verdict_of(const CaseReport& report) {
  if (!report.failed()) return "pass";
  std::string others =
      report.mismatch_count() > 1 ? fmt::format(" (and {} more)", report.mismatch_count() - 1) : "";
  return fmt::format("FAIL: {}{}", report.mismatches().front(), others);
}

Verdicts verdicts_of(const RecordedCase& recorded, VerifyOptions options) {
  Verdicts verdicts;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    options.release = releases[i];
    verdicts[i] = verdict_of(verify_case(recorded, options));
  }
  return verdicts;
}

bool is_equal(const Verdicts& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [&](const std::string& verdict) { return verdict == verdicts.front(); });
}

}  // namespace

bool is_case_path(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".json" || extension == ".jsonl" || std::filesystem::is_directory(path);
}

ReleaseComparison compare_case_releases(const CaseReleasesRequest& request) {
  std::vector<RecordedCase> cases =
      load_cases(std::vector<std::string>{request.path}, [](const RecordedCase&) {
        return true;
      }).cases;
  ReleaseComparison found{.subject = ReleaseComparison::Subject::cases, .file = request.path};
  std::uint64_t done = 0, passed = 0, failed = 0;
  auto goes_on = [&] {
    return !request.goes_on || request.goes_on({"cases", done, cases.size(), failed});
  };
  run_ordered<Verdicts>(
      {.count = cases.size(), .threads = request.jobs, .goes_on = goes_on},
      [&] { return [&](std::uint64_t i) { return verdicts_of(cases[i], request.options); }; },
      [&](std::uint64_t i, Verdicts verdicts) {
        ++done;
        if (!is_equal(verdicts))
          found.differences.push_back({"case " + cases[i].id(), std::move(verdicts)});
        else
          ++(verdicts.front() == "pass" ? passed : failed);
        return true;
      });
  if (passed > 0) found.same.push_back(fmt::format("{} passed", passed));
  if (failed > 0) found.same.push_back(fmt::format("{} failed", failed));
  return found;
}

}  // namespace simmesh
