#include "zero/fetch/schedule_picture.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "core/check/one_line.h"
#include "zero/fetch/pretty.h"

namespace simmesh::zero {

namespace {

constexpr int column_width = 14, row_height = 16, name_width = 190, head_height = 150;
constexpr int graph_height = 90, gap = 24, margin = 12;

// State of a parameter from one column to another.
enum class Phase : std::uint8_t { fetching, prefetching, whole };

struct Bar {
  ParamId param;
  Phase phase;
  int begin, end;
};

struct Column {
  std::string label;
  std::int64_t available = 0;
};

const char* color_of(Phase phase) {
  switch (phase) {
    case Phase::fetching: return "#e8a0a0";
    case Phase::prefetching: return "#f0d080";
    default: return "#5b8db8";
  }
}

// Timeline turns events into columns and bars.
class Timeline {
 public:
  explicit Timeline(const ScheduleNames& names) : names_(names), open_(names.params.size()) {}

  void add(const Event& event) {
    switch (event.kind) {
      case EventKind::enter: return add_column(event, ">");
      case EventKind::leave: return add_column(event, "<");
      case EventKind::step: columns_.push_back({"step", 0}); return;
      case EventKind::fetch: return begin(event.params, Phase::fetching);
      case EventKind::prefetch: return begin(event.params, Phase::prefetching);
      case EventKind::wait:
      case EventKind::blocking: return become_whole(event.params);
      case EventKind::release: return end(event.params);
      case EventKind::entered:
      case EventKind::left:
        if (!columns_.empty()) columns_.back().available = event.available;
        return;
      default: return;
    }
  }

  void finish() {
    for (std::size_t i = 0; i < open_.size(); ++i) close(ParamId(i), now() + 1);
  }

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Bar>& bars() const { return bars_; }

 private:
  int now() const { return std::max(int(columns_.size()) - 1, 0); }

  void add_column(const Event& event, const char* sign) {
    std::string name = names_.modules[std::size_t(event.module)];
    if (name.empty()) name = "root";
    const char* pass = event.pass == Pass::forward ? "F" : "B";
    columns_.push_back({fmt::format("{}{} {}", pass, sign, name), event.available});
  }

  void begin(const std::vector<ParamId>& params, Phase phase) {
    for (ParamId id : params) open_[std::size_t(id)] = Bar{id, phase, now(), now()};
  }

  // A fetch that is waited for at once is in flight for a part of its column only; it gets a whole
  // column.
  void become_whole(const std::vector<ParamId>& params) {
    for (ParamId id : params) {
      auto& bar = open_[std::size_t(id)];
      int start = now();
      if (bar && bar->phase == Phase::whole) continue;
      if (bar && bar->begin == start && bar->phase == Phase::fetching) ++start;
      close(id, start);
      bar = Bar{id, Phase::whole, start, start};
    }
  }

  void end(const std::vector<ParamId>& params) {
    for (ParamId id : params) close(id, now() + 1);
  }

  void close(ParamId id, int column) {
    auto& bar = open_[std::size_t(id)];
    if (!bar) return;
    bar->end = column;
    if (bar->end > bar->begin) bars_.push_back(*bar);
    bar.reset();
  }

  const ScheduleNames& names_;
  std::vector<Column> columns_;
  std::vector<Bar> bars_;
  std::vector<std::optional<Bar>> open_;
};

std::string rect(int x, int y, int width, int height, const char* color) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y,
                     width, height, color);
}

std::string text(int x, int y, const std::string& words, const char* more = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, more, markup(words));
}

std::string heads(const std::vector<Column>& columns, int height) {
  std::string svg;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    int x = name_width + int(i) * column_width;
    if (i % 2 == 1) svg += rect(x, head_height, column_width, height, "#f4f4f4");
    svg +=
        fmt::format("<text x=\"0\" y=\"0\" transform=\"translate({} {}) rotate(-70)\">{}</text>\n",
                    x + column_width - 3, head_height - 6, markup(columns[i].label));
  }
  return svg;
}

std::string legend(int y) {
  std::string svg;
  int x = margin;
  for (auto [phase, words] :
       {std::pair(Phase::fetching, "fetched by the module"),
        std::pair(Phase::prefetching, "prefetched, in flight"), std::pair(Phase::whole, "whole")}) {
    svg += rect(x, y - 10, 12, 12, color_of(phase)) + text(x + 18, y, words);
    x += 190;
  }
  return svg;
}

// Draws the elements available after each column, as bars.
std::string graph(const std::vector<Column>& columns, int top) {
  std::int64_t most = 1;
  for (const Column& column : columns) most = std::max(most, column.available);
  std::string svg = text(margin, top + 12, "elements available");
  svg += text(margin, top + 28, "at most " + pretty_count(most));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto height = int(std::max<std::int64_t>(columns[i].available, 0) * graph_height / most);
    svg += rect(name_width + int(i) * column_width, top + graph_height - height, column_width - 1,
                height, "#888");
  }
  return svg;
}

}  // namespace

std::string schedule_svg(gsl::span<const Event> events, const ScheduleNames& names) {
  Timeline timeline(names);
  for (const Event& event : events) timeline.add(event);
  timeline.finish();
  int rows = int(names.params.size()) * row_height;
  int width = name_width + int(timeline.columns().size()) * column_width + 110;
  int height = head_height + rows + gap + graph_height + gap;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"11\">\n",
      width, height);
  svg += rect(0, 0, width, height, "#fff") + heads(timeline.columns(), rows);
  for (std::size_t i = 0; i < names.params.size(); ++i)
    svg += text(margin, head_height + int(i) * row_height + 12, names.params[i]);
  for (const Bar& bar : timeline.bars())
    svg += rect(name_width + bar.begin * column_width, head_height + bar.param * row_height + 2,
                (bar.end - bar.begin) * column_width, row_height - 4, color_of(bar.phase));
  svg += graph(timeline.columns(), head_height + rows + gap / 2);
  return svg + legend(height - 8) + "</svg>\n";
}

}  // namespace simmesh::zero
