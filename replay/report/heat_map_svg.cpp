#include "replay/report/heat_map_svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>

#include "replay/report/pixels.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t cells_max = 64;
constexpr double margin_px = 54;

// A stretch of members that share a row or a column.
struct Members {
  std::size_t begin;
  std::size_t end;
};

std::vector<Members> cells_of(std::size_t members) {
  std::size_t cells = std::min(members, cells_max);
  std::vector<Members> result;
  for (std::size_t i = 0; i < cells; ++i)
    result.push_back({i * members / cells, (i + 1) * members / cells});
  return result;
}

std::string name_of(const AllToAllMatrix& matrix, const Members& members) {
  std::int64_t first = matrix.members[members.begin];
  if (members.end - members.begin == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {} to {}", first, matrix.members[members.end - 1]);
}

// Returns a shade from nearly white for nothing to dark blue for the most.
std::string shade(double share) {
  auto between = [&](double light, double dark) {
    return std::lround(light + (dark - light) * share);
  };
  return fmt::format("#{:02x}{:02x}{:02x}", between(240, 20), between(244, 66), between(250, 150));
}

std::int64_t bytes_between(const AllToAllMatrix& matrix, const Members& from, const Members& to) {
  std::int64_t elements = 0;
  for (std::size_t sender = from.begin; sender < from.end; ++sender)
    for (std::size_t receiver = to.begin; receiver < to.end; ++receiver)
      elements += matrix.elements[sender][receiver];
  return elements * matrix.item_bytes;
}

}  // namespace

std::string heat_map_svg(const AllToAllMatrix& matrix) {
  std::vector<Members> cells = cells_of(matrix.members.size());
  std::vector<std::int64_t> bytes;
  for (const Members& from : cells)
    for (const Members& to : cells) bytes.push_back(bytes_between(matrix, from, to));
  std::int64_t most = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
  double side = std::clamp(360.0 / double(std::max<std::size_t>(cells.size(), 1)), 6.0, 36.0);
  double size = margin_px + side * double(cells.size()) + 4;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" width=\"{0}\" "
      "height=\"{0}\" role=\"img\">\n",
      pixels(size));
  for (std::size_t row = 0; row < cells.size(); ++row) {
    double y = margin_px + side * double(row);
    if (side >= 12) {
      svg += fmt::format("<text class=\"rank\" x=\"2\" y=\"{}\">{}</text>",
                         pixels(y + side / 2 + 4), name_of(matrix, cells[row]));
      svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>\n", pixels(y + side / 2),
                         pixels(margin_px - 6), matrix.members[cells[row].begin]);
    }
    for (std::size_t column = 0; column < cells.size(); ++column) {
      std::int64_t count = bytes[row * cells.size() + column];
      double share = most > 0 ? double(count) / double(most) : 0;
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\">"
          "<title>{} to {}: {} bytes</title></rect>\n",
          pixels(margin_px + side * double(column)), pixels(y), pixels(side - 1), pixels(side - 1),
          shade(share), name_of(matrix, cells[row]), name_of(matrix, cells[column]), count);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace simmesh::replay
