#include "replay/report/timeline_svg.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check/one_line.h"
#include "replay/report/pixels.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t ranks_drawn_max = 64;
constexpr double left_px = 70, width_px = 1100, lane_px = 11, rank_px = 28, top_px = 22;
constexpr double narrow_px = 0.25;

struct Bar {
  Interval time;
  std::string_view style;
  std::string title = {};
};

// TimelineDrawing maps times to places in the drawing.
class TimelineDrawing {
 public:
  explicit TimelineDrawing(const ReportedTimes& times) : times_(times) {
    double begin = std::numeric_limits<double>::infinity(), end = -begin;
    for (const RankTimeline& rank : times.timeline.ranks)
      for (const TimelineSpan& span : rank.spans) {
        if (!span.is_of_device()) continue;
        begin = std::min(begin, span.begin_us);
        end = std::max(end, span.end_us);
      }
    if (end > begin) {
      begin_us_ = begin;
      length_us_ = end - begin;
    }
  }

  std::string svg() {
    std::size_t ranks = std::min(times_.timeline.ranks.size(), ranks_drawn_max);
    double height = top_px + double(ranks) * rank_px;
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\">\n",
        left_px + width_px + 20, height + 4);
    draw_axis(height);
    for (std::size_t i = 0; i < ranks; ++i) draw_rank(i, top_px + double(i) * rank_px);
    return svg_ + "</svg>\n";
  }

 private:
  double x_of(double time_us) const {
    return left_px + (time_us - begin_us_) / length_us_ * width_px;
  }

  void draw_axis(double height) {
    constexpr int parts = 10;
    for (int i = 0; i <= parts; ++i) {
      double x = left_px + width_px * i / parts;
      svg_ += fmt::format(
          "<line class=\"axis\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"tick\" "
          "x=\"{0}\" y=\"12\">{3:.0f} us</text>\n",
          pixels(x), top_px - 4, height, length_us_ * i / parts);
    }
  }

  void draw_bars(const std::vector<Bar>& bars, double y) {
    // The end of the last bar of each style: a narrow bar that touches it is merged into it.
    std::vector<std::pair<std::string_view, double>> drawn;
    for (const Bar& bar : bars) {
      double begin = x_of(bar.time.begin_us), end = x_of(bar.time.end_us);
      auto last = std::find_if(drawn.begin(), drawn.end(),
                               [&](const auto& each) { return each.first == bar.style; });
      if (last == drawn.end()) last = drawn.insert(drawn.end(), {bar.style, -1.0});
      if (end <= last->second) continue;
      double width = std::max(end - begin, narrow_px);
      last->second = begin + width;
      std::string title = bar.title.empty() ? "" : "<title>" + markup(bar.title) + "</title>";
      svg_ +=
          fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>\n",
                      bar.style, pixels(begin), pixels(y), pixels(width), pixels(lane_px), title);
    }
  }

  std::vector<Bar> comm_bars(std::size_t rank) const {
    std::vector<Bar> bars;
    for (const CollectiveSkew& skew : times_.skew.collectives)
      for (const PartSkew& part : skew.parts) {
        if (part.part.rank != rank) continue;
        const TimelineSpan& span = span_of(times_.timeline, part.part);
        const TimelineComm& comm = comm_of(times_.timeline, part.part);
        std::string name =
            comm.name.empty() ? std::string(kernel_name(times_.timeline, part.part)) : comm.name;
        if (!skew.shortest_us) {
          std::string title = fmt::format("{}: {:.1f} us; ranks are missing, so waiting is unknown",
                                          name, span.length_us());
          bars.push_back({{span.begin_us, span.end_us}, "communication", title});
          continue;
        }
        double moving = std::max(span.begin_us, span.end_us - *skew.shortest_us);
        std::string title = fmt::format("{}: waits {:.1f} us, moves {:.1f} us", name,
                                        moving - span.begin_us, span.end_us - moving);
        if (skew.last_rank) title += fmt::format("; rank {} came last", *skew.last_rank);
        if (moving > span.begin_us) bars.push_back({{span.begin_us, moving}, "waiting", title});
        bars.push_back({{moving, span.end_us}, "moving", title});
      }
    std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) {
      return std::pair(a.time.begin_us, a.time.end_us) < std::pair(b.time.begin_us, b.time.end_us);
    });
    return bars;
  }

  void draw_rank(std::size_t rank, double y) {
    svg_ += fmt::format("<text class=\"rank\" x=\"4\" y=\"{}\">rank {}</text>\n",
                        pixels(y + lane_px + 3), times_.timeline.ranks[rank].rank);
    draw_bars(comm_bars(rank), y);
    DeviceMoments moments = device_moments(times_.timeline.ranks[rank]);
    std::vector<Bar> bars;
    for (const Interval& stretch : moments.compute) bars.push_back({stretch, "compute"});
    for (const Interval& stretch : moments.copy) bars.push_back({stretch, "copy"});
    draw_bars(bars, y + lane_px + 1);
  }

  const ReportedTimes& times_;
  double begin_us_ = 0;
  double length_us_ = 1;
  std::string svg_;
};

}  // namespace

std::string timeline_svg(const ReportedTimes& times) { return TimelineDrawing(times).svg(); }

}  // namespace simmesh::replay
