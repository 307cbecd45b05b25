#include "sharding/picture/picture.h"

#include <algorithm>

#include "sharding/picture/picture_grid.h"

namespace simmesh {
namespace {

using Row = std::vector<std::string>;

std::string ruled_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  std::string rule = "+";
  for (std::size_t width : widths) rule += std::string(width + 2, '-') + '+';
  rule += '\n';
  std::string text = rule;
  for (const Row& row : rows) {
    text += '|';
    for (std::size_t column = 0; column < row.size(); ++column)
      text += fmt::format(" {:^{}} |", row[column], widths[column]);
    text += '\n' + rule;
  }
  return text;
}

Row ranges(const std::vector<IndexRun>& segments) {
  Row row;
  for (const IndexRun& segment : segments) row.push_back(range_text({&segment, 1}));
  return row;
}

std::string table(const PictureGrid& grid) {
  std::vector<Row> rows;
  const bool flat = grid.segments.size() == 1;
  rows.push_back(ranges(grid.segments.back()));
  if (!flat) rows.front().insert(rows.front().begin(), "");
  const Row heads = flat ? Row{""} : ranges(grid.segments.front());
  std::size_t cell = 0;
  for (const std::string& head : heads) {
    Row row;
    if (!flat) row.push_back(head);
    for (std::size_t column = 0; column < grid.segments.back().size(); ++column)
      row.push_back(grid.pieces[static_cast<std::size_t>(grid.cells[cell++])].ranks);
    rows.push_back(std::move(row));
  }
  return ruled_table(rows);
}

std::string list(const PictureGrid& grid) {
  std::string text;
  for (const PicturePiece& piece : grid.pieces) {
    if (piece.empty) continue;
    text += piece.ranks + ':';
    if (piece.runs.empty()) text += " the one element";
    for (std::size_t dim = 0; dim < piece.runs.size(); ++dim)
      text += (dim == 0 ? " " : " x ") + range_text(piece.runs[dim]);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string text_picture(DimSpan global_shape, DimSpan mesh_shape, const Sharding& sharding) {
  const PictureGrid grid = picture_grid(global_shape, mesh_shape, sharding);
  std::string text =
      fmt::format("tensor {} on mesh {}\n", to_string(global_shape), to_string(mesh_shape));
  for (const std::string& line : legend_lines(mesh_shape, sharding)) text += line + '\n';
  const bool tabular = global_shape.size() == 1 || global_shape.size() == 2;
  if (!grid.cells.empty()) text += tabular ? table(grid) : list(grid);
  std::string nothing;
  for (const PicturePiece& piece : grid.pieces)
    if (piece.empty) nothing += ' ' + piece.ranks;
  if (!nothing.empty()) text += "nothing:" + nothing + '\n';
  return text;
}

}  // namespace simmesh
