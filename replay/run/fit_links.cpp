#include "replay/run/fit_links.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "core/check/error.h"

namespace simmesh::replay {

namespace {

constexpr double bytes_per_gb = 1024.0 * 1024.0 * 1024.0;

struct LinkLine {
  double latency_us = 0;
  double us_per_byte = 0;
};

struct LinkPoint {
  double bytes = 0;
  double us = 0;
};

LinkLine best_line(const std::vector<LinkPoint>& points) {
  double count = double(points.size()), bytes = 0, us = 0, squares = 0, products = 0;
  for (const LinkPoint& point : points) {
    bytes += point.bytes;
    us += point.us;
  }
  double mean_bytes = bytes / count, mean_us = us / count;
  for (const LinkPoint& point : points) {
    squares += (point.bytes - mean_bytes) * (point.bytes - mean_bytes);
    products += (point.bytes - mean_bytes) * (point.us - mean_us);
  }
  if (squares == 0 || products <= 0) return {mean_us, 0};
  LinkLine line{.us_per_byte = products / squares};
  line.latency_us = mean_us - line.us_per_byte * mean_bytes;
  if (line.latency_us >= 0) return line;
  double from_origin = 0, weights = 0;
  for (const LinkPoint& point : points) {
    from_origin += point.bytes * point.us;
    weights += point.bytes * point.bytes;
  }
  return {0, from_origin / weights};
}

double first_begin_us(const ReplayProgram& program, const Meeting& meeting,
                      const CommSpans& spans) {
  double first = std::numeric_limits<double>::infinity();
  for (std::size_t member = 0; member < meeting.steps.size(); ++member) {
    const auto& span =
        spans[std::size_t(members_of(program, meeting)[member])][*meeting.steps[member]];
    if (span) first = std::min(first, span->begin_us);
  }
  return first;
}

std::vector<FittedCollective> recorded_collectives(const ReplayProgram& program,
                                                   const JobMeetings& meetings,
                                                   const CommSpans& spans) {
  std::vector<std::pair<double, FittedCollective>> found;
  for (std::size_t i = 0; i < meetings.collectives.size(); ++i) {
    const Meeting& meeting = meetings.collectives[i];
    if (!meeting.is_complete() || meeting.steps.size() < 2) continue;
    double begin_us = first_begin_us(program, meeting, spans);
    if (std::isinf(begin_us)) continue;
    const RankProgram& rank = program.ranks[std::size_t(members_of(program, meeting)[0])];
    found.push_back({begin_us,
                     {.meeting = i,
                      .name = std::string(rank.texts[rank.steps[*meeting.steps[0]].name]),
                      .members = meeting.steps.size(),
                      .moved_bytes = moved_bytes(program, meeting),
                      .recorded_us = effective_us(program, meeting, spans)}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FittedCollective> collectives;
  for (auto& [begin_us, collective] : found) collectives.push_back(std::move(collective));
  return collectives;
}

double mean_error_us(const std::vector<FittedCollective>& collectives, bool is_fitted) {
  double sum = 0, count = 0;
  for (const FittedCollective& collective : collectives) {
    if (collective.is_fitted != is_fitted) continue;
    sum += std::abs(collective.predicted_us - collective.recorded_us);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

FittedLinks fit_links(const ReplayProgram& program, const JobMeetings& meetings,
                      const JobTimeline& timeline) {
  FittedLinks links;
  links.collectives = recorded_collectives(program, meetings, comm_spans(program, timeline));
  std::vector<LinkPoint> points;
  for (std::size_t i = 0; i < links.collectives.size(); i += 2) {
    links.collectives[i].is_fitted = true;
    points.push_back({links.collectives[i].moved_bytes, links.collectives[i].recorded_us});
  }
  if (points.size() < 2)
    raise(ErrorKind::value_error, "replay/fit_links",
          "expected at least 3 recorded collectives of several ranks, got {}",
          links.collectives.size());
  LinkLine line = best_line(points);
  links.latency_us = line.latency_us;
  links.bandwidth_gb_s = line.us_per_byte > 0 ? 1e6 / line.us_per_byte / bytes_per_gb : 0;
  links.topology = {.devices_per_host = std::int64_t(program.ranks.size()),
                    .bandwidth_intra_gb_s = line.us_per_byte > 0 ? links.bandwidth_gb_s : 1e12,
                    .latency_intra_us = 0,
                    .base_us = line.latency_us,
                    .all_to_all_penalty_us = 0};
  for (FittedCollective& collective : links.collectives)
    collective.predicted_us =
        comm_us(program, meetings.collectives[collective.meeting], links.topology);
  links.fitted_error_us = mean_error_us(links.collectives, true);
  links.predicted_error_us = mean_error_us(links.collectives, false);
  return links;
}

std::string to_string(const FittedLinks& links) {
  std::string text;
  for (const FittedCollective& collective : links.collectives)
    text += fmt::format(
        "{} of {} ranks, {:.0f} bytes moved: recorded {:.1f} us, {} {:.1f} us, "
        "error {:+.1f} us\n",
        collective.name, collective.members, collective.moved_bytes, collective.recorded_us,
        collective.is_fitted ? "fitted" : "predicted", collective.predicted_us,
        collective.predicted_us - collective.recorded_us);
  return text + fmt::format(
                    "latency {:.2f} us, bandwidth {:.2f} GB/s; mean error {:.1f} us of the "
                    "fitted half, {:.1f} us of the predicted half\n",
                    links.latency_us, links.bandwidth_gb_s, links.fitted_error_us,
                    links.predicted_error_us);
}

}  // namespace simmesh::replay
