#pragma once

#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <vector>

#include "replay/job/trace_resource.h"
#include "replay/read/read_execution_trace.h"
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
  std::vector<TraceResource> resources;  // files beside the traces

  // find returns the trace of a rank, null where it is missing.
  const RankTrace* find(std::int64_t rank) const;
};

// rank_in_name returns the rank in a file's name: the number after "rank" or "worker", or else the
// one at the end of the name, before its extensions: 3 for "rank-3.json.gz", "dlrm_eg_3.json" and
// "worker3_step_12.1694.pt.trace.json"; nullopt where there is none.
std::optional<std::int64_t> rank_in_name(std::string_view file);

// read_job reads the execution traces of a job: files, folders and archives of them. Chakra's
// graphs are left out; add_graphs reads them. In a folder or
// an archive it leaves out files that aren't named .json or .json.gz, timelines, and JSON of other
// kinds, but reads the resources of traces (trace_resource.h). Ranks come from the names of the
// files, else from those of their folders, as in "rank3/trace.json"; else they count in the order
// of the files. Findings are about a trace that can't be read (rules "json", "top_level",
// "schema") and a second one of a rank, which is left out ("rank_twice"); files that for_each_file
// refuses raise a ValueError.
TraceJob read_job(gsl::span<const std::string> paths,
                  OperatorLabels labels = OperatorLabels::are_communications);

}  // namespace simmesh::replay
