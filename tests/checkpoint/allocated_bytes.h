#pragma once

#include <cstddef>

namespace simmesh::checkpoint::testing {

// AllocatedBytes counts what this thread holds by operator new while it lives: `most` is the most
// that was held at once, beyond what was held before. Under a sanitizer nothing is counted. One
// lives at a time.
class AllocatedBytes {
 public:
  AllocatedBytes();
  ~AllocatedBytes();
  AllocatedBytes(const AllocatedBytes&) = delete;
  AllocatedBytes& operator=(const AllocatedBytes&) = delete;

  std::size_t most() const;
};

}  // namespace simmesh::checkpoint::testing
