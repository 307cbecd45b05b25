#include "pipeline/analysis/schedule_picture.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/check/append_text.h"
#include "core/check/one_line.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr std::int64_t unit_width = 26, row_height = 26, name_width = 70, head_height = 34;
constexpr std::int64_t foot_height = 58, margin = 10, step_of_labels = 5;

struct KindLook {
  ActionKind kind;
  const char* words;
  std::array<const char*, 3> colors;  // of a rank's first stage, its second, and further ones
};

constexpr std::array<KindLook, 4> looks = {{
    {forward, "F forward", {"#a9c8ec", "#6f9fd8", "#4a7ab8"}},
    {full_backward, "B backward", {"#f3c48b", "#e09a48", "#b9772b"}},
    {backward_input, "I gradient of inputs", {"#9fd6cd", "#5fb3a6", "#3d8c80"}},
    {backward_weight, "W gradient of weights", {"#bfdc9c", "#8fbe5c", "#6a9639"}},
}};

const KindLook& look_of(ActionKind kind) {
  auto found = std::find_if(looks.begin(), looks.end(),
                            [&](const KindLook& look) { return look.kind == kind; });
  return found == looks.end() ? looks.front() : *found;
}

void add_box(std::string& svg, std::int64_t x, std::int64_t y, std::int64_t units,
             const char* color) {
  append_text(svg,
              "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
              "stroke=\"#fff\"/>\n",
              x, y, units * unit_width, row_height - 4, color);
}

// Draws the row of one rank.
class RankRow {
 public:
  RankRow(std::string& svg, std::size_t rank, const std::vector<SpacedSchedule::Placed>& placed)
      : svg_(svg), y_(head_height + std::int64_t(rank) * row_height) {
    for (const auto& action : placed)
      for (const Action& leaf : action.action.leaves()) stages_.insert(leaf.stage);
    append_text(svg_, "<text x=\"{}\" y=\"{}\">rank {}</text>\n", margin, y_ + 15, rank);
  }

  void draw(const SpacedSchedule::Placed& placed) {
    std::int64_t begin = placed.begin;
    for (const Action& leaf : placed.action.leaves()) {
      draw_leaf(leaf, begin);
      begin += duration_of(leaf);
    }
    if (placed.action.parts.empty()) return;
    append_text(svg_,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
                "stroke=\"#333\"/>\n",
                x_of(placed.begin), y_, (placed.end - placed.begin) * unit_width, row_height - 4);
  }

 private:
  static std::int64_t x_of(std::int64_t time) { return name_width + time * unit_width; }

  void draw_leaf(const Action& leaf, std::int64_t begin) {
    auto local = std::size_t(std::distance(stages_.begin(), stages_.find(leaf.stage)));
    const KindLook& look = look_of(leaf.kind);
    std::int64_t units = duration_of(leaf), x = x_of(begin);
    svg_ += "<g>";
    append_text(svg_, "<title>{}</title>", to_string(leaf));
    add_box(svg_, x, y_, units, look.colors[std::min(local, look.colors.size() - 1)]);
    append_text(svg_, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></g>\n",
                x + units * unit_width / 2, y_ + 15, leaf.microbatch.value_or(0));
  }

  std::string& svg_;
  std::int64_t y_;
  std::set<std::int64_t> stages_;
};

void add_legend(std::string& svg, std::int64_t y, const SpacedSchedule& spaced) {
  std::set<ActionKind> used;
  for (const auto& row : spaced.placed)
    for (const auto& placed : row)
      for (const Action& leaf : placed.action.leaves()) used.insert(leaf.kind);
  std::int64_t x = margin;
  for (const KindLook& look : looks) {
    if (used.count(look.kind) == 0) continue;
    append_text(svg, "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x,
                y - 10, look.colors[0]);
    append_text(svg, "<text x=\"{}\" y=\"{}\">{}</text>\n", x + 18, y, look.words);
    x += 170;
  }
}

}  // namespace

std::string schedule_svg(const SpacedSchedule& spaced, std::string_view title) {
  std::int64_t rows_end = head_height + std::int64_t(spaced.placed.size()) * row_height;
  // The last label stands under the end of the last column, half of it beyond.
  std::int64_t width =
      std::max<std::int64_t>(name_width + spaced.end * unit_width, 700) + 2 * margin;
  std::int64_t height = rows_end + foot_height;
  std::string svg;
  append_text(svg,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
              "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"11\">\n"
              "<rect x=\"0\" y=\"0\" width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
              "<text x=\"{2}\" y=\"20\">{3}</text>\n",
              width, height, margin, markup(title));
  for (std::size_t rank = 0; rank < spaced.placed.size(); ++rank) {
    RankRow row(svg, rank, spaced.placed[rank]);
    for (const auto& placed : spaced.placed[rank]) row.draw(placed);
  }
  for (std::int64_t time = 0; time <= spaced.end; time += step_of_labels)
    append_text(svg, "<text x=\"{}\" y=\"{}\" fill=\"#666\" text-anchor=\"middle\">{}</text>\n",
                name_width + time * unit_width, rows_end + 12, time);
  add_legend(svg, height - 14, spaced);
  return svg + "</svg>\n";
}

}  // namespace simmesh::pipeline
