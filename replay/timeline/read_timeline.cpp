#include "replay/timeline/read_timeline.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/check/counted.h"
#include "core/check/error.h"
#include "replay/job/trace_job.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"
#include "replay/timeline/kineto_rank.h"
#include "replay/timeline/link_launches.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view timeline_place = "replay/timeline";

// A number above any number of ranks, such as a time, isn't a rank.
std::optional<std::int64_t> rank_of_name(const std::string& file) {
  std::optional<std::int64_t> rank = rank_in_name(file);
  return rank && *rank < kineto_ranks_max ? rank : std::nullopt;
}

// Refuses a rank that two files have; where no rank is known, files are counted.
void number_ranks(std::vector<KinetoRank>& ranks) {
  std::map<std::int64_t, const std::string*> files;
  for (KinetoRank& rank : ranks)
    if (!rank.rank) rank.rank = rank_of_name(rank.timeline.file);
  if (std::none_of(ranks.begin(), ranks.end(),
                   [](const KinetoRank& rank) { return rank.rank.has_value(); })) {
    std::int64_t next = 0;
    for (KinetoRank& rank : ranks) rank.rank = next++;
  }
  for (KinetoRank& rank : ranks) {
    const std::string& file = rank.timeline.file;
    if (!rank.rank)
      raise(ErrorKind::value_error, timeline_place,
            "{}: expected a rank in the file or its name, got none", file);
    auto [first, is_new] = files.emplace(*rank.rank, &file);
    if (!is_new)
      raise(ErrorKind::value_error, timeline_place,
            "expected one timeline of rank {}, got {} and {}", *rank.rank, *first->second, file);
    rank.timeline.rank = *rank.rank;
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const KinetoRank& a, const KinetoRank& b) { return *a.rank < *b.rank; });
}

std::int64_t first_moment(const std::vector<KinetoRank>& ranks) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const KinetoRank& rank : ranks)
    for (const KinetoRank::Times& times : rank.times) first = std::min(first, times.begin_ns);
  return first == std::numeric_limits<std::int64_t>::max() ? 0 : first;
}

// set_times gives the spans their times since the origin. A difference of times in nanoseconds is
// divided once, so that equal moments stay equal.
void set_times(KinetoRank& rank, std::int64_t origin_ns) {
  for (std::size_t i = 0; i < rank.times.size(); ++i) {
    TimelineSpan& span = rank.timeline.spans[i];
    span.begin_us = double(rank.times[i].begin_ns - origin_ns) / 1000;
    span.end_us = double(rank.times[i].end_ns - origin_ns) / 1000;
  }
  rank.times = {};
}

// add_steps takes the marks of the host; devices repeat them for spans that belong to a step.
void add_steps(RankTimeline& timeline) {
  for (const TimelineSpan& span : timeline.spans)
    if (!timeline.tracks[span.track].is_device &&
        timeline.text(span.name).find("ProfilerStep#") != std::string_view::npos)
      timeline.steps.push_back({std::string(timeline.text(span.name)), span.begin_us, span.end_us});
}

// number_of orders the names of groups as numbers, where they are numbers.
std::pair<std::size_t, std::string> number_of(const std::string& name) {
  return {name.size(), name};
}

// number_among counts the groups of a rank with the same members that were made before this one.
std::size_t number_among(const KinetoRank& rank, const TimelineGroup& group) {
  std::set<std::pair<std::size_t, std::string>> earlier;
  auto count = [&](const std::string& name, const std::vector<std::int64_t>& members) {
    if (members == group.members && number_of(name) < number_of(group.name))
      earlier.insert(number_of(name));
  };
  for (const TimelineGroup& other : rank.own_groups) count(other.name, other.members);
  for (const auto& [name, members] : rank.groups) count(name, members);
  return earlier.size();
}

// join_groups gives the groups of all ranks one list. Groups with the same members are told apart
// by the order of their names on each rank.
void join_groups(std::vector<KinetoRank>& ranks, JobTimeline& job) {
  std::map<std::pair<std::vector<std::int64_t>, std::size_t>, std::uint32_t> known;
  for (KinetoRank& rank : ranks) {
    std::vector<std::uint32_t> places;
    for (const TimelineGroup& group : rank.own_groups) {
      auto [place, is_new] = known.emplace(std::pair(group.members, number_among(rank, group)),
                                           std::uint32_t(job.groups.size()));
      if (is_new) job.groups.push_back(group);
      places.push_back(place->second);
    }
    for (TimelineComm& comm : rank.timeline.comms)
      if (comm.group) comm.group = places[*comm.group];
  }
}

void add_findings(const std::vector<KinetoRank>& ranks, JobTimeline& job) {
  for (const KinetoRank& rank : ranks) {
    const std::string& file = rank.timeline.file;
    if (rank.repairs.sum() > 0)
      job.findings.push_back(warning_at(
          "timeline_text", {.rank = rank.timeline.rank},
          fmt::format("{}: read although it isn't JSON: {}", file, to_string(rank.repairs))));
    if (rank.unfinished > 0)
      job.findings.push_back(
          warning_at("timeline_event", {.rank = rank.timeline.rank},
                     fmt::format("{}: {} never ended (a length below 0), left out", file,
                                 counted(rank.unfinished, "event"))));
  }
}

JobTimeline join(std::vector<KinetoRank> ranks) {
  JobTimeline job;
  number_ranks(ranks);
  add_findings(ranks, job);
  job.origin_ns = first_moment(ranks);
  job.world_size = std::int64_t(ranks.size());
  for (KinetoRank& rank : ranks) {
    job.world_size = std::max({job.world_size, rank.world_size, rank.timeline.rank + 1});
    set_times(rank, job.origin_ns);
    link_launches(rank);
  }
  join_groups(ranks, job);
  for (KinetoRank& rank : ranks) {
    sort_spans(rank.timeline);
    add_steps(rank.timeline);
    job.ranks.push_back(std::move(rank.timeline));
  }
  return job;
}

}  // namespace

JobTimeline read_timelines(gsl::span<const std::string> paths) {
  std::vector<KinetoRank> ranks;
  for (const std::string& path : paths)
    for_each_file(path, [&](ByteSource& source) {
      if (is_of_form(source, path, {TraceForm::timeline}))
        ranks.push_back(read_kineto_rank(source));
    });
  if (ranks.empty())
    raise(ErrorKind::value_error, timeline_place,
          "expected timelines with 'traceEvents', got none");
  return join(std::move(ranks));
}

JobTimeline read_timeline(ByteSource& source) {
  std::vector<KinetoRank> ranks;
  ranks.push_back(read_kineto_rank(source));
  return join(std::move(ranks));
}

}  // namespace simmesh::replay
