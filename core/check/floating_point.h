#pragma once

#include <cstdint>
#include <string>

namespace simmesh {

// FloatingPointMode is how the thread, or the fiber that runs on it, computes with floating-point
// numbers. Equal bits need the mode that a program starts with: results round to nearest, and
// subnormal numbers are neither flushed to zero nor read as zero. On processors other than x86-64
// and aarch64 the mode can't be read, and always counts as that one.
class FloatingPointMode {
 public:
  static FloatingPointMode current() {
#if defined(__x86_64__)
    // Rounding control, flush to zero, denormals are zero.
    constexpr std::uint32_t mask = 0x6000 | 0x8000 | 0x0040;
    return FloatingPointMode(__builtin_ia32_stmxcsr() & mask);
#elif defined(__aarch64__)
    // Rounding mode, and flush to zero of all and of half precision.
    constexpr std::uint64_t mask = 0xC00000 | 0x1000000 | 0x80000;
    std::uint64_t control;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return FloatingPointMode(std::uint32_t(control & mask));
#else
    return FloatingPointMode(0);
#endif
  }

  bool is_default() const { return bits_ == 0; }

  // to_string names what differs from the mode that equal bits need: "rounds upward, flushes
  // subnormal results to zero".
  std::string to_string() const;

 private:
  explicit FloatingPointMode(std::uint32_t bits) : bits_(bits) {}

  std::uint32_t bits_;
};

}  // namespace simmesh
