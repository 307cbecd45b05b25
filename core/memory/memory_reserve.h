#pragma once

#include <exception>
#include <new>

namespace simmesh {

// MemoryReserve makes a program end with a report when memory runs out in its scope. It holds some
// memory from the begin on. The first allocation that fails frees it and raises std::bad_alloc, so
// that files are closed and errors are told with what is free then. If even that isn't enough, or
// if the exception can't be let through where it was raised, the program prints "simmesh: not
// enough memory ..." and ends with the exit status. It may stand before main, and one within the
// scope of another changes nothing.
//
//   MemoryReserve reserve(2);
class MemoryReserve {
 public:
  explicit MemoryReserve(int exit_status) noexcept;
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

 private:
  bool is_outermost_;
  std::new_handler new_handler_before_;
  std::terminate_handler terminate_handler_before_;
};

}  // namespace simmesh
