#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace simmesh {

// Scratch is memory for one computation. Freed memory is kept for the thread's next computation, up
// to a limit: pages that are touched for the first time cost more than small products do.
//
//   Scratch scratch;
//   double* sums = scratch.take<double>(rows * columns);  // not initialised, aligned to 64 bytes
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(std::size_t(count) * sizeof(T)));
  }

 private:
  struct Piece {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  struct Kept;

  std::byte* take_bytes(std::size_t size);

  std::vector<Piece> pieces_;
};

}  // namespace simmesh
