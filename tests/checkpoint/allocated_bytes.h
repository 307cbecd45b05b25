#pragma once

#include <cstddef>

namespace simmesh::checkpoint::testing {

// AllocatedBytes counts the bytes that this thread allocates by operator new during its lifetime.
// `most` returns the most that was held at once, beyond the bytes from before. Under a sanitizer
// nothing is counted. There is one object at a time.
class AllocatedBytes {
 public:
  AllocatedBytes();
  ~AllocatedBytes();
  AllocatedBytes(const AllocatedBytes&) = delete;
  AllocatedBytes& operator=(const AllocatedBytes&) = delete;

  std::size_t most() const;
};

}  // namespace simmesh::checkpoint::testing
