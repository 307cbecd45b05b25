#include "core/check/floating_point.h"

#include <array>

namespace simmesh {

namespace {

#if defined(__aarch64__)
constexpr std::uint32_t rounding_shift = 22, flushes_results = 0x1000000 | 0x80000;
constexpr std::uint32_t flushes_operands = 0;
constexpr std::array<const char*, 4> roundings = {"", "upward", "downward", "toward zero"};
#else
constexpr std::uint32_t rounding_shift = 13, flushes_results = 0x8000;
constexpr std::uint32_t flushes_operands = 0x0040;
constexpr std::array<const char*, 4> roundings = {"", "downward", "upward", "toward zero"};
#endif

void add(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

}  // namespace

std::string FloatingPointMode::to_string() const {
  std::string text;
  if (auto rounding = bits_ >> rounding_shift & 3; rounding != 0)
    add(text, std::string("rounds ") + roundings[rounding]);
  if (bits_ & flushes_results) add(text, "flushes subnormal results to zero");
  if (bits_ & flushes_operands) add(text, "reads subnormal operands as zero");
  return text.empty() ? "rounds to nearest" : text;
}

}  // namespace simmesh
