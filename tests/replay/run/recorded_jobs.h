#pragma once

#include <string>
#include <vector>

#include "replay/job/job_groups.h"
#include "replay/job/trace_job.h"
#include "replay/run/replay_program.h"

namespace simmesh::replay::samples {

// recorded_program returns the program of a job among the recorded cases, by its file or folder.
inline ReplayProgram recorded_program(const std::string& path, const ProgramOptions& options = {}) {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR "/tests/cases/replay/" + path};
  TraceJob job = read_job(paths);
  Findings findings;
  return make_program(job, resolve_groups(job, findings), options);
}

}  // namespace simmesh::replay::samples
