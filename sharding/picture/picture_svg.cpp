#include "sharding/picture/picture_svg.h"

#include <algorithm>

#include "sharding/picture/picture_grid.h"

namespace simmesh {
namespace {

constexpr std::int64_t margin = 16;
constexpr std::int64_t line_height = 18;
constexpr std::int64_t character_width = 7;
constexpr std::int64_t head_width = 72;
constexpr std::int64_t panel_width = 420;
constexpr std::int64_t panel_height = 220;

struct Stretch {
  std::int64_t begin;
  std::int64_t length;
};

// stretches lays out segments in proportion to their lengths, none shorter than `least`. A missing
// dim is one stretch.
std::vector<Stretch> stretches(const std::vector<IndexRun>* segments, std::int64_t total,
                               std::int64_t least) {
  if (!segments) return {{0, 2 * least}};
  std::int64_t size = 0;
  for (const IndexRun& segment : *segments) size += segment.length;
  std::vector<Stretch> result;
  std::int64_t begin = 0;
  for (const IndexRun& segment : *segments) {
    // There can be so many indices that a product with pixels overflows.
    const double share = static_cast<double>(segment.length) / static_cast<double>(size);
    const auto length =
        std::max(least, static_cast<std::int64_t>(share * static_cast<double>(total)));
    result.push_back({begin, length});
    begin += length;
  }
  return result;
}

class Drawing {
 public:
  // add draws a sharding below the previous one.
  void add(DimSpan mesh_shape, const Sharding& sharding, PictureGrid grid) {
    take(std::move(grid), sharding.placements);
    panels();
    for (const std::string& words : legend_lines(mesh_shape, sharding)) line(words);
    std::string nothing;
    for (const PicturePiece& piece : grid_.pieces)
      if (piece.empty) nothing += ' ' + piece.ranks;
    if (!nothing.empty()) line("nothing:" + nothing);
  }

  void space() { y_ += line_height; }

  void line(std::string_view words) {
    y_ += line_height;
    width_ = std::max(width_, 2 * margin + static_cast<std::int64_t>(words.size()) * 8);
    body_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", margin, y_, words);
  }

  std::string finished() const {
    const std::int64_t height = y_ + margin;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"12\">\n"
        "<defs><pattern id=\"partial\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"8\" fill=\"#000\" "
        "fill-opacity=\"0.2\"/>"
        "</pattern></defs>\n{2}</svg>\n",
        width_, height, body_);
  }

 private:
  void take(PictureGrid grid, PlacementSpan placements) {
    grid_ = std::move(grid);
    partial_ = std::any_of(placements.begin(), placements.end(),
                           [](const Placement& placement) { return placement.is_partial(); });
    ragged_ = std::any_of(placements.begin(), placements.end(),
                          [](const Placement& placement) { return placement.is_ragged_shard(); });
    const std::size_t dims = grid_.segments.size();
    std::size_t label = 0;
    for (const PicturePiece& piece : grid_.pieces) label = std::max(label, piece.ranks.size());
    const auto cell_width = static_cast<std::int64_t>(label + 2) * character_width;
    columns_ = stretches(dims > 0 ? &grid_.segments[dims - 1] : nullptr, panel_width, cell_width);
    rows_ =
        stretches(dims > 1 ? &grid_.segments[dims - 2] : nullptr, panel_height, line_height + 6);
  }

  void panels() {
    if (grid_.cells.empty()) return;
    const std::size_t dims = grid_.segments.size();
    Dims counts;
    for (std::size_t dim = 0; dim + 2 < dims; ++dim)
      counts.push_back(static_cast<std::int64_t>(grid_.segments[dim].size()));
    Dims index(counts.size(), 0);
    std::size_t cell = 0;
    do {
      if (dims > 2) {
        std::string title = "indices";
        for (std::size_t dim = 0; dim < counts.size(); ++dim)
          title += (dim == 0 ? " " : " x ") + range_text({&segment(dim, index[dim]), 1});
        line(title);
      }
      panel(cell);
      cell += rows_.size() * columns_.size();
    } while (next_index(index, counts));
  }

  const IndexRun& segment(std::size_t dim, std::int64_t number) const {
    return grid_.segments[dim][static_cast<std::size_t>(number)];
  }

  void text(std::int64_t x, std::int64_t y, std::string_view words) {
    body_ +=
        fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, y + 4, words);
  }

  void panel(std::size_t cell) {
    const std::size_t dims = grid_.segments.size();
    const std::int64_t left = margin + head_width;
    if (dims > 0) {
      y_ += line_height;
      for (std::size_t column = 0; column < columns_.size(); ++column)
        text(left + columns_[column].begin + columns_[column].length / 2, y_ - 6,
             range_text({&grid_.segments[dims - 1][column], 1}));
    }
    const std::int64_t top = y_ + 4;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const std::int64_t middle = top + rows_[row].begin + rows_[row].length / 2;
      if (dims > 1)
        text(margin + head_width / 2, middle, range_text({&grid_.segments[dims - 2][row], 1}));
      for (std::size_t column = 0; column < columns_.size(); ++column)
        draw_cell(grid_.cells[cell++], left + columns_[column].begin, top + rows_[row].begin,
                  columns_[column].length, rows_[row].length);
    }
    y_ = top + rows_.back().begin + rows_.back().length + 4;
    width_ = std::max(width_, left + columns_.back().begin + columns_.back().length + margin);
  }

  void draw_cell(std::int32_t piece, std::int64_t x, std::int64_t y, std::int64_t width,
                 std::int64_t height) {
    const auto rectangle = [&](std::string_view paint) {
      body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", x, y, width,
                           height, paint);
    };
    // 137 degrees is close to the golden angle, so neighbouring numbers get distant colours.
    rectangle(fmt::format("fill=\"hsl({},60%,80%)\" stroke=\"#333\"{}", piece * 137 % 360,
                          ragged_ ? " stroke-dasharray=\"4 2\"" : ""));
    if (partial_) rectangle("fill=\"url(#partial)\"");
    text(x + width / 2, y + height / 2, grid_.pieces[static_cast<std::size_t>(piece)].ranks);
  }

  PictureGrid grid_;
  bool partial_ = false;
  bool ragged_ = false;
  std::vector<Stretch> columns_;
  std::vector<Stretch> rows_;
  std::string body_;
  std::int64_t y_ = margin;
  std::int64_t width_ = 0;
};

}  // namespace

std::string svg_picture(DimSpan global_shape, DimSpan mesh_shape,
                        gsl::span<const PictureStage> stages) {
  Drawing drawing;
  drawing.line(fmt::format("tensor {} on mesh {}", to_string(global_shape), to_string(mesh_shape)));
  for (const PictureStage& stage : stages) {
    if (!stage.title.empty()) {
      drawing.space();
      drawing.line(stage.title);
    }
    drawing.add(mesh_shape, stage.sharding, picture_grid(global_shape, mesh_shape, stage.sharding));
  }
  return drawing.finished();
}

std::string svg_picture(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding) {
  const PictureStage only{.title = "", .sharding = sharding};
  return svg_picture(global_shape, mesh_shape, {&only, 1});
}

}  // namespace simmesh
