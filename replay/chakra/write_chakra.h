#pragma once

#include <string>

#include "replay/chakra/chakra_trace.h"
#include "replay/job/trace_job.h"

namespace simmesh::replay {

// to_protobuf returns a trace in Chakra's protobuf form: the metadata, then the nodes, each message
// after its length. Equal traces give equal bytes.
std::string to_protobuf(const ChakraTrace& trace);

// write_chakra_job writes the trace of each rank of a job to a folder, as "rank-3.et", in the form
// to_chakra gives it. The folder is made where it doesn't exist. Raises a ValueError where a file
// can't be written.
void write_chakra_job(const TraceJob& job, const std::string& folder);

}  // namespace simmesh::replay
