#include "replay/analysis/critical_path.h"

#include <algorithm>

namespace simmesh::replay {

namespace {

PathKind kind_of_stretch(SpanKind kind) {
  switch (kind) {
    case SpanKind::compute: return PathKind::compute;
    case SpanKind::copy: return PathKind::copy;
    default: return PathKind::communication;
  }
}

// Walker goes back in time, and uses each span at most once.
class Walker {
 public:
  Walker(const JobTimeline& job, const std::vector<JobCollective>& collectives)
      : job_(job), collectives_(collectives) {
    path_.by_rank_us.resize(job.ranks.size());
    for (const RankTimeline& rank : job.ranks) {
      collective_of_.emplace_back(rank.comms.size());
      ends_.push_back(spans_by_end(rank));
    }
    for (std::uint32_t i = 0; i < collectives.size(); ++i)
      for (const CommPart& part : collectives[i].parts) collective_of_[part.rank][part.comm] = i;
  }

  CriticalPath walk() {
    if (!find_end()) return {};
    while (step()) {
    }
    std::reverse(path_.stretches.begin(), path_.stretches.end());
    return std::move(path_);
  }

 private:
  static std::vector<std::uint32_t> spans_by_end(const RankTimeline& rank) {
    std::vector<std::uint32_t> spans;
    for (std::uint32_t i = 0; i < rank.spans.size(); ++i)
      if (rank.spans[i].is_of_device()) spans.push_back(i);
    std::stable_sort(spans.begin(), spans.end(), [&](std::uint32_t a, std::uint32_t b) {
      return rank.spans[a].end_us < rank.spans[b].end_us;
    });
    return spans;
  }

  // find_end finds the rank whose device ends last; false where no device has a span.
  bool find_end() {
    bool is_found = false;
    for (std::uint32_t r = 0; r < ends_.size(); ++r) {
      if (ends_[r].empty()) continue;
      double end = job_.ranks[r].spans[ends_[r].back()].end_us;
      if (is_found && end <= now_us_) continue;
      is_found = true;
      rank_ = r;
      now_us_ = end;
    }
    return is_found;
  }

  // step takes the span that ended last on the rank before now; false at the beginning.
  bool step() {
    std::vector<std::uint32_t>& spans = ends_[rank_];
    const RankTimeline& rank = job_.ranks[rank_];
    while (!spans.empty() && rank.spans[spans.back()].end_us > now_us_) spans.pop_back();
    if (spans.empty()) return false;
    std::uint32_t index = spans.back();
    spans.pop_back();
    const TimelineSpan& span = rank.spans[index];
    add(PathKind::idle, span.end_us, std::nullopt);
    if (!span.comm) {
      add(kind_of_stretch(span.kind), span.begin_us, index);
      return true;
    }
    std::optional<CommPart> last = last_part(job_, collectives_[collective_of_[rank_][*span.comm]]);
    if (!last) {
      add(PathKind::communication, span.begin_us, index);
      return true;
    }
    double moving_begin = span_of(job_, *last).begin_us;
    add(PathKind::moving, std::max(moving_begin, span.begin_us), index);
    rank_ = last->rank;
    now_us_ = std::min(now_us_, moving_begin);
    return true;
  }

  // add moves back to a time, and notes what the time was spent on.
  void add(PathKind kind, double begin_us, std::optional<std::uint32_t> span) {
    if (begin_us >= now_us_) return;
    path_.stretches.push_back({kind, rank_, begin_us, now_us_, span});
    path_.by_kind_us[kind] += now_us_ - begin_us;
    path_.by_rank_us[rank_] += now_us_ - begin_us;
    now_us_ = begin_us;
  }

  const JobTimeline& job_;
  const std::vector<JobCollective>& collectives_;
  std::vector<std::vector<std::uint32_t>> collective_of_;  // by rank and communication
  std::vector<std::vector<std::uint32_t>> ends_;  // spans by rank, sorted by end, not yet used
  CriticalPath path_;
  std::uint32_t rank_ = 0;
  double now_us_ = 0;
};

}  // namespace

std::string_view to_string(PathKind kind) {
  switch (kind) {
    case PathKind::compute: return "compute";
    case PathKind::copy: return "copy";
    case PathKind::moving: return "moving";
    case PathKind::communication: return "communication";
    case PathKind::idle: return "idle";
  }
  return "";
}

double CriticalPath::length_us() const {
  return stretches.empty() ? 0 : stretches.back().end_us - stretches.front().begin_us;
}

CriticalPath critical_path(const JobTimeline& job, const std::vector<JobCollective>& collectives) {
  return Walker(job, collectives).walk();
}

}  // namespace simmesh::replay
