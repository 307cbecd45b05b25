#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "replay/trace/execution_trace.h"
#include "replay/trace/finding.h"

namespace simmesh::replay {

// RankTrace is the execution trace of one rank of a job.
struct RankTrace {
  std::int64_t rank = 0;
  std::string file;  // as it was named, and the member of an archive after a colon
  ExecutionTrace trace;
};

// TraceJob is the execution traces of the ranks of one job, by rank. Some may be missing.
struct TraceJob {
  std::vector<RankTrace> ranks;
  // Files that couldn't be read at all, as findings.
  Findings findings;

  const RankTrace* find(std::int64_t rank) const;
};

// rank_in_name returns the rank that a file's name says: the number after "rank", "worker" or the
// last '_' or '-' before the extensions: 3 for "rank-3.json.gz", "dlrm_eg_3.json" and
// "worker3_step_12.1694.pt.trace.json"; nullopt where there is none.
std::optional<std::int64_t> rank_in_name(std::string_view file);

// read_job reads the execution traces of a job: files and folders, archives among them. Ranks come
// from the names of the files; where names don't say them, or say one twice, ranks count in the
// order of the files. A trace that can't be read is a finding (rules "json", "top_level"); a path
// that doesn't exist, an archive that isn't one and limits that are passed raise a ValueError.
TraceJob read_job(gsl::span<const std::string> paths);

}  // namespace simmesh::replay
