#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/read/byte_source.h"

namespace simmesh::replay {

// TraceResource is a file of the folder "rank-0_resources" that PyTorch's observer writes beside
// "rank-0.json": the elements of an integer tensor ("nid_99_tid_1.dat", input 1 of node 99), or the
// source of a kernel.
struct TraceResource {
  std::string file;
  std::string trace;                 // "rank-0"
  std::optional<std::int64_t> node;  // of a tensor, else nothing
  std::int64_t tensor = 0;           // index among the tensors of the node's inputs
  std::int64_t bytes = 0;
};

// is_resource is true for the name of a file in such a folder.
bool is_resource(std::string_view file);

// read_resource reads the name of a file and counts its bytes; nullopt where it isn't in such a
// folder.
std::optional<TraceResource> read_resource(ByteSource& source);

// resources_name returns the name of a trace's file in the names of its resources: "rank-0" for
// "job/rank-0.json.gz".
std::string resources_name(const std::string& trace_file);

}  // namespace simmesh::replay
