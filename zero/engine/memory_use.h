#pragma once

#include <cstdint>

namespace simmesh::zero {

// MemoryUse is the memory of an engine on one rank at a moment, in bytes, wherever it is: on the
// device or, offloaded, elsewhere.
struct MemoryUse {
  std::int64_t shards = 0;      // this rank's parts of parameters, in stage 3
  std::int64_t master = 0;      // float32 copies that the optimiser works on
  std::int64_t moments = 0;     // the optimiser's state
  std::int64_t gradients = 0;   // whole ones on parameters, or this rank's parts
  std::int64_t buckets = 0;     // gradients that wait for their reduction
  std::int64_t persistent = 0;  // whole parameters that are never released, in stage 3
  std::int64_t live = 0;        // all other whole parameters
};

}  // namespace simmesh::zero
