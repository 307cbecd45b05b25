#include "replay/report/memory_svg.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "replay/report/pixels.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t points_max = 1000;
constexpr double curve_left_px = 96, curve_width_px = 1060, curve_height_px = 160,
                 curve_top_px = 14;

// The unit in which the largest value has up to four digits.
struct ByteUnit {
  const char* name;
  double bytes;
};
ByteUnit unit_for(std::int64_t most) {
  constexpr std::array<ByteUnit, 4> units = {
      {{"bytes", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}}};
  for (const ByteUnit& unit : units)
    if (double(most) < 10'000 * unit.bytes) return unit;
  return units.back();
}

std::string points_of(const std::vector<MemoryPoint>& curve, std::int64_t most) {
  std::size_t stretches = std::min(curve.size(), points_max);
  std::string points;
  for (std::size_t i = 0; i < stretches; ++i) {
    auto begin = curve.begin() + std::ptrdiff_t(i * curve.size() / stretches);
    auto end = curve.begin() + std::ptrdiff_t((i + 1) * curve.size() / stretches);
    std::int64_t bytes = std::max_element(begin, end, [](const auto& a, const auto& b) {
                           return a.bytes < b.bytes;
                         })->bytes;
    double x = stretches > 1 ? double(i) / double(stretches - 1) : 0;
    double y = most > 0 ? 1 - double(bytes) / double(most) : 1;
    points += fmt::format("{}{},{}", i > 0 ? " " : "", pixels(curve_left_px + x * curve_width_px),
                          pixels(curve_top_px + y * curve_height_px));
  }
  return points;
}

}  // namespace

std::string memory_svg(const MemoryPlan& plan) {
  std::int64_t most = std::max(plan.sum_bytes, plan.lazy_peak_bytes);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n",
      curve_left_px + curve_width_px + 10, curve_top_px + curve_height_px + 24);
  ByteUnit unit = unit_for(most);
  constexpr int parts = 4;
  for (int i = 0; i <= parts; ++i) {
    double y = curve_top_px + curve_height_px * (parts - i) / parts;
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/><text class=\"rank\" "
        "x=\"2\" y=\"{3}\">{4:.1f} {5}</text>\n",
        curve_left_px, curve_left_px + curve_width_px, pixels(y), pixels(y + 4),
        double(most) * i / parts / unit.bytes, unit.name);
  }
  svg += fmt::format("<polyline class=\"pre\" points=\"{}\"/>\n", points_of(plan.pre_curve, most));
  svg +=
      fmt::format("<polyline class=\"lazy\" points=\"{}\"/>\n", points_of(plan.lazy_curve, most));
  if (!plan.lazy_curve.empty())
    svg += fmt::format(
        "<text class=\"rank\" x=\"{}\" y=\"{}\">node {}</text><text class=\"tick\" x=\"{}\" "
        "y=\"{}\">node {}</text>\n",
        curve_left_px, curve_top_px + curve_height_px + 16, plan.lazy_curve.front().node,
        curve_left_px + curve_width_px - 30, curve_top_px + curve_height_px + 16,
        plan.lazy_curve.back().node);
  return svg + "</svg>\n";
}

}  // namespace simmesh::replay
