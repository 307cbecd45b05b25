#pragma once

#include <string>

#include "replay/job/trace_job.h"
#include "replay/trace/execution_trace.h"

namespace simmesh::replay {

// to_json returns a trace as PyTorch's observer writes it, in the schema 1.1.1-chakra.0.0.4, with
// nodes in the order of their ids. The inputs that are no tensors are those in
// ExecutionTrace::arguments; a node without any has its lists of integers. Raises a ValueError for
// a trace without strides, which that schema has.
std::string to_json(const ExecutionTrace& trace);

// write_execution_trace writes it to a file, compressed where the name ends in ".gz", all of it or
// nothing. Equal traces give equal bytes. Raises a ValueError where the file can't be written.
void write_execution_trace(const std::string& path, const ExecutionTrace& trace);

// write_job writes the trace of each rank to a folder, as "rank-3.json.gz". The folder is made
// where it doesn't exist.
void write_job(const TraceJob& job, const std::string& folder);

}  // namespace simmesh::replay
