#include "sharding/picture/picture_grid.h"

#include <algorithm>
#include <numeric>

#include "core/check/error.h"
#include "core/check/join_text.h"
#include "sharding/placement/local_shape.h"

namespace simmesh {
namespace {

constexpr std::int64_t pieces_max = 4096;

void check_count(std::string_view what, DimSpan sizes) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t size : sizes) overflow |= __builtin_mul_overflow(count, size, &count);
  if (overflow || count > pieces_max)
    raise(ErrorKind::value_error, "sharding/picture", "expected at most {} {} to draw, got {}",
          pieces_max, what, to_string(sizes));
}

std::string pattern(DimSpan coordinate, PlacementSpan placements) {
  std::string text;
  for (std::size_t mesh_dim = 0; mesh_dim < placements.size(); ++mesh_dim) {
    if (mesh_dim > 0) text += ',';
    if (placements[mesh_dim].splits())
      text += fmt::format("{}", coordinate[mesh_dim]);
    else
      text += placements[mesh_dim].is_partial() ? '+' : '*';
  }
  return '(' + text + ')';
}

std::vector<IndexRun> segments_of(std::int64_t tensor_dim,
                                  const std::vector<PicturePiece>& pieces) {
  std::vector<std::int64_t> cuts;
  for (const PicturePiece& piece : pieces) {
    for (const IndexRun& run : piece.runs[static_cast<std::size_t>(tensor_dim)]) {
      cuts.push_back(run.start);
      cuts.push_back(run.end());
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<IndexRun> segments;
  for (std::size_t cut = 1; cut < cuts.size(); ++cut)
    segments.push_back({cuts[cut - 1], cuts[cut] - cuts[cut - 1]});
  return segments;
}

// owned returns the numbers of the segments that the runs consist of.
std::vector<std::int64_t> owned(const IndexRuns& runs, const std::vector<IndexRun>& segments) {
  std::vector<std::int64_t> numbers;
  for (std::size_t number = 0; number < segments.size(); ++number)
    for (const IndexRun& run : runs)
      if (run.start <= segments[number].start && segments[number].end() <= run.end())
        numbers.push_back(static_cast<std::int64_t>(number));
  return numbers;
}

void fill_cells(PictureGrid& grid) {
  Dims counts;
  for (const auto& segments : grid.segments)
    counts.push_back(static_cast<std::int64_t>(segments.size()));
  check_count("cells", counts);
  grid.cells.assign(static_cast<std::size_t>(numel(counts)), 0);
  const Strides strides = contiguous_strides(counts);
  for (std::size_t number = 0; number < grid.pieces.size(); ++number) {
    if (grid.pieces[number].empty) continue;
    std::vector<std::vector<std::int64_t>> segments;
    Dims sizes;
    for (std::size_t dim = 0; dim < grid.segments.size(); ++dim) {
      segments.push_back(owned(grid.pieces[number].runs[dim], grid.segments[dim]));
      sizes.push_back(static_cast<std::int64_t>(segments.back().size()));
    }
    Dims index(sizes.size(), 0);
    do {
      std::int64_t cell = 0;
      for (std::size_t dim = 0; dim < sizes.size(); ++dim)
        cell += segments[dim][static_cast<std::size_t>(index[dim])] * strides[dim];
      grid.cells[static_cast<std::size_t>(cell)] = static_cast<std::int32_t>(number);
    } while (next_index(index, sizes));
  }
}

}  // namespace

PictureGrid picture_grid(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding) {
  check_sharding(sharding.placements, global_shape, mesh_shape);
  Dims sizes(mesh_shape.begin(), mesh_shape.end());
  for (std::size_t mesh_dim = 0; mesh_dim < sizes.size(); ++mesh_dim)
    if (!sharding.placements[mesh_dim].splits()) sizes[mesh_dim] = 1;
  check_count("pieces", sizes);

  PictureGrid grid;
  Dims coordinate(sizes.size(), 0);
  do {
    PicturePiece piece{pattern(coordinate, sharding.placements), {}, false};
    for (std::size_t dim = 0; dim < global_shape.size(); ++dim) {
      piece.runs.push_back(local_index_runs(global_shape, static_cast<std::int64_t>(dim),
                                            mesh_shape, coordinate, sharding.placements,
                                            sharding.order));
      piece.empty |= piece.runs.back().empty();
    }
    grid.pieces.push_back(std::move(piece));
  } while (next_index(coordinate, sizes));
  for (std::size_t dim = 0; dim < global_shape.size(); ++dim)
    grid.segments.push_back(segments_of(static_cast<std::int64_t>(dim), grid.pieces));
  fill_cells(grid);
  return grid;
}

std::string range_text(gsl::span<const IndexRun> runs) {
  if (runs.empty()) return "-";
  std::string text;
  for (const IndexRun& run : runs)
    text += fmt::format("{}{}:{}", text.empty() ? "" : "+", run.start, run.end());
  return text;
}

std::vector<std::string> legend_lines(DimSpan mesh_shape, const Sharding& sharding) {
  std::vector<std::string> lines;
  for (std::size_t mesh_dim = 0; mesh_dim < mesh_shape.size(); ++mesh_dim) {
    const Placement& placement = sharding.placements[mesh_dim];
    std::string meaning = "every rank holds a copy";
    if (placement.is_partial()) meaning = "every rank holds an operand of the reduction";
    if (placement.splits()) meaning = fmt::format("splits tensor dim {}", placement.dim());
    if (placement.is_strided_shard())
      meaning += fmt::format(" in {} chunks, each over all ranks", placement.split_factor());
    if (placement.is_ragged_shard()) meaning += " raggedly, in units per rank";
    const Dims* order = placement.splits() ? sharding.order.entry(placement.dim()) : nullptr;
    if (order) meaning += fmt::format(" (mesh dims in the order {})", join_text(*order, ","));
    lines.push_back(fmt::format("mesh dim {} ({} rank{}): {}, {}", mesh_dim, mesh_shape[mesh_dim],
                                mesh_shape[mesh_dim] == 1 ? "" : "s", to_string(placement),
                                meaning));
  }
  return lines;
}

}  // namespace simmesh
