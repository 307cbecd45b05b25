#pragma once

#include <string>

namespace simmesh {

// TraceFolders says where the execution traces of a gate's run go, one file a rank: a folder for
// those in PyTorch's form, and one for those in Chakra's. An empty name asks for none.
struct TraceFolders {
  std::string execution_traces = {};
  std::string chakra = {};

  bool are_given() const { return !execution_traces.empty() || !chakra.empty(); }
};

}  // namespace simmesh
