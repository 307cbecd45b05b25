#include "zero/fetch/pretty.h"

#include <array>
#include <fmt/core.h>

namespace simmesh::zero {

std::string pretty_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string pretty_bytes(std::int64_t bytes) {
  static constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::string exact = pretty_count(bytes) + " B";
  double value = double(bytes) / 1024;
  if (value > -1 && value < 1) return exact;
  std::size_t unit = 0;
  for (; (value <= -1024 || value >= 1024) && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{} ({:.2f} {})", exact, value, units[unit]);
}

}  // namespace simmesh::zero
