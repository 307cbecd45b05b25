#include "replay/report/timeline_part.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <vector>

#include "core/page/timeline_section.h"

namespace simmesh::replay {

namespace {

using Span = TimelineSection::Span;

// TimelinePart collects the spans of the ranks, from the begin of the job's first one.
class TimelinePart {
 public:
  explicit TimelinePart(const ReportedTimes& times)
      : times_(times),
        section_({.title = times.is_simulated ? "Timeline, simulated" : "Timeline, recorded",
                  .unit = "us",
                  .about = "A rank waits for the last rank of a collective, and then moves bytes. "
                           "Stretches in which several kernels compute are one."}) {
    double begin = std::numeric_limits<double>::infinity();
    for (const RankTimeline& rank : times.timeline.ranks)
      for (const TimelineSpan& span : rank.spans)
        if (span.is_of_device()) begin = std::min(begin, span.begin_us);
    if (std::isfinite(begin)) begin_us_ = begin;
  }

  JsonValue json() {
    std::vector<std::vector<Span>> comms = comm_spans();
    for (std::size_t rank = 0; rank < times_.timeline.ranks.size(); ++rank) {
      for (const Span& span : comms[rank]) section_.add(span);
      add_device(rank);
    }
    return section_.json();
  }

 private:
  std::int64_t ticks(double time_us) const {
    return std::int64_t(std::llround((time_us - begin_us_) * 1000));
  }

  Span span_from(std::size_t rank, std::string_view track, const Interval& time) const {
    std::int64_t begin = ticks(time.begin_us);
    return {.rank = std::uint64_t(times_.timeline.ranks[rank].rank),
            .track = std::string(track),
            .begin = begin,
            .length = ticks(time.end_us) - begin,
            .name = {}};
  }

  // Returns the spans of each rank in the order of their begins.
  std::vector<std::vector<Span>> comm_spans() const {
    std::vector<std::vector<Span>> spans(times_.timeline.ranks.size());
    for (const CollectiveSkew& skew : times_.skew.collectives)
      for (const PartSkew& part : skew.parts) {
        const TimelineSpan& whole = span_of(times_.timeline, part.part);
        const TimelineComm& comm = comm_of(times_.timeline, part.part);
        std::string name =
            comm.name.empty() ? std::string(kernel_name(times_.timeline, part.part)) : comm.name;
        double moving = skew.shortest_us
                            ? std::max(whole.begin_us, whole.end_us - *skew.shortest_us)
                            : whole.begin_us;
        auto add = [&](const Interval& time, const std::string& words) {
          spans[part.part.rank].push_back(span_from(part.part.rank, "communication", time));
          spans[part.part.rank].back().name = words;
        };
        std::string last = skew.last_rank ? fmt::format(" for rank {}", *skew.last_rank) : "";
        if (moving > whole.begin_us)
          add({whole.begin_us, moving}, fmt::format("{} waits{}", name, last));
        add({moving, whole.end_us},
            skew.shortest_us ? name + " moves bytes" : name + ", waiting or moving bytes");
      }
    for (std::vector<Span>& of_rank : spans)
      std::stable_sort(of_rank.begin(), of_rank.end(),
                       [](const Span& a, const Span& b) { return a.begin < b.begin; });
    return spans;
  }

  void add_device(std::size_t rank) {
    DeviceMoments moments = device_moments(times_.timeline.ranks[rank]);
    auto add = [&](const auto& stretches, const char* name) {
      for (const Interval& stretch : stretches) {
        Span span = span_from(rank, name, stretch);
        span.name = name;
        section_.add(span);
      }
    };
    add(moments.compute, "computing");
    add(moments.copy, "copying");
  }

  const ReportedTimes& times_;
  TimelineSection section_;
  double begin_us_ = 0;
};

}  // namespace

JsonValue timeline_part(const ReportedTimes& times) { return TimelinePart(times).json(); }

}  // namespace simmesh::replay
