#include "replay/report/picture_parts.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/page/sections.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t pictures_max = 8, members_max = 64, points_max = 1000;

// A stretch of members that share a row or a column.
struct Members {
  std::size_t begin;
  std::size_t end;
};

std::vector<Members> stretches_of(std::size_t members) {
  std::size_t count = std::min(members, members_max);
  std::vector<Members> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back({i * members / count, (i + 1) * members / count});
  return result;
}

std::string name_of(const AllToAllMatrix& matrix, const Members& members) {
  std::int64_t first = matrix.members[members.begin];
  if (members.end - members.begin == 1) return fmt::format("rank {}", first);
  return fmt::format("ranks {} to {}", first, matrix.members[members.end - 1]);
}

std::int64_t bytes_between(const AllToAllMatrix& matrix, const Members& from, const Members& to) {
  std::int64_t elements = 0;
  for (std::size_t sender = from.begin; sender < from.end; ++sender)
    for (std::size_t receiver = to.begin; receiver < to.end; ++receiver)
      elements += matrix.elements[sender][receiver];
  return elements * matrix.item_bytes;
}

PageMatrix page_matrix(const AllToAllMatrix& matrix) {
  PageMatrix page{
      .title = fmt::format("{}, node {}", matrix.name, matrix.node), .members = {}, .cells = {}};
  std::vector<Members> stretches = stretches_of(matrix.members.size());
  for (const Members& from : stretches) {
    page.members.push_back(name_of(matrix, from));
    page.cells.emplace_back();
    for (const Members& to : stretches)
      page.cells.back().push_back(bytes_between(matrix, from, to));
  }
  return page;
}

// Returns points of a curve at given nodes: the most bytes in the stretch up to each.
PageCurve curve_of(const ReportedTrace& trace) {
  const std::vector<MemoryPoint>&lazy = trace.memory.lazy_curve, &pre = trace.memory.pre_curve;
  PageCurve curve{.title = fmt::format("rank {}, {}", trace.rank, trace.device),
                  .at = {},
                  .bytes = std::vector<std::vector<std::int64_t>>(2)};
  std::size_t size = std::min(lazy.size(), pre.size()), points = std::min(size, points_max);
  for (std::size_t i = 0; i < points; ++i) {
    std::size_t begin = i * size / points, end = (i + 1) * size / points;
    auto most = [&](const std::vector<MemoryPoint>& of) {
      std::int64_t bytes = 0;
      for (std::size_t at = begin; at < end; ++at) bytes = std::max(bytes, of[at].bytes);
      return bytes;
    };
    curve.at.push_back(std::int64_t(end - 1));
    curve.bytes[0].push_back(most(lazy));
    curve.bytes[1].push_back(most(pre));
  }
  return curve;
}

}  // namespace

JsonValue all_to_alls_part(const std::vector<AllToAllMatrix>& matrices) {
  std::vector<PageMatrix> pages;
  for (std::size_t i = 0; i < std::min(matrices.size(), pictures_max); ++i)
    pages.push_back(page_matrix(matrices[i]));
  std::string title = "All-to-alls: bytes from each rank to each";
  if (matrices.size() > pictures_max)
    title += fmt::format(", the first {} of {}", pictures_max, matrices.size());
  return matrices_section(title, pages);
}

JsonValue memory_part(const std::vector<ReportedTrace>& traces) {
  std::vector<const ReportedTrace*> shown;
  for (const ReportedTrace& trace : traces)
    if (!trace.memory.storages.empty()) shown.push_back(&trace);
  if (shown.empty()) return {};
  std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) {
    return a->memory.lazy_peak_bytes > b->memory.lazy_peak_bytes;
  });
  shown.resize(std::min(shown.size(), pictures_max));
  PageCurves curves{.title = "Memory over the operators",
                    .unit = "operator",
                    .stacked = false,
                    .categories = {"made at the first use, freed after the last",
                                   "made beforehand where it has to be, and kept"},
                    .curves = {}};
  for (const ReportedTrace* trace : shown) curves.curves.push_back(curve_of(*trace));
  return memory_section(curves);
}

}  // namespace simmesh::replay
