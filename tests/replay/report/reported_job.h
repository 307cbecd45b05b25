#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/report/report_job.h"
#include "replay/timeline/read_timeline.h"

namespace simmesh::replay::samples {

inline std::vector<std::string> recorded_paths(const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files)
    paths.push_back(SIMMESH_SOURCE_DIR "/tests/cases/replay/" + file);
  return paths;
}

// dlrm_report is the report of a recorded job of 8 ranks with its timelines.
inline const JobReport& dlrm_report() {
  static const JobReport report = [] {
    auto traces = recorded_paths({"dlrm_pytorch_et.tar.gz"});
    auto timelines = recorded_paths({"dlrm_kineto.tar.gz"});
    JobReportOptions options{.schedules = 5};
    options.what_if = {{.name = "twice", .change = {}, .bandwidth_factor = 2},
                       {.name = "arrival", .change = {.perfect_arrival = true}}};
    return report_job(read_job(traces), read_timelines(timelines), options);
  }();
  return report;
}

// report_of is the report of recorded traces without timelines.
inline JobReport report_of(const std::string& path, const JobReportOptions& options = {}) {
  return report_job(read_job(recorded_paths({path})), std::nullopt, options);
}

inline const JobCheck* find_check(const JobReport& report, const std::string& name) {
  for (const JobCheck& check : report.checks)
    if (check.name == name) return &check;
  return nullptr;
}

}  // namespace simmesh::replay::samples
