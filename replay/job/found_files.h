#pragma once

#include <gsl/span>
#include <string>
#include <vector>

namespace simmesh::replay {

// FoundFiles says which forms of traces some paths hold.
struct FoundFiles {
  bool has_traces = false;  // execution traces, and files that may be broken ones
  bool has_timelines = false;
  bool has_chakra = false;            // as protobuf or JSON
  std::vector<std::string> left_out;  // files of folders and archives that are no traces
};

// find_files looks at all files that the paths stand for (unpack.h).
FoundFiles find_files(gsl::span<const std::string> paths);

// left_out_words returns "2 files that are no traces are left out: a.md, args.json"; of many files
// it names the first three, and it is empty for none.
std::string left_out_words(const std::vector<std::string>& left_out);

}  // namespace simmesh::replay
