#include "replay/analysis/check_timelines.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/check/counted.h"
#include "core/check/join_text.h"
#include "replay/trace/comm_kind.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

// SequenceColumns is the collectives of one sequence in their order, and the ranks that have any.
struct SequenceColumns {
  std::vector<const JobCollective*> collectives;
  std::set<std::uint32_t> ranks;
};

const CommPart* part_of(const JobCollective& collective, std::uint32_t rank) {
  for (const CommPart& part : collective.parts)
    if (part.rank == rank) return &part;
  return nullptr;
}

// TimelineChecker goes over the sequences of a job.
class TimelineChecker {
 public:
  TimelineChecker(const JobTimeline& job, const std::vector<JobCollective>& collectives)
      : job_(job) {
    for (const JobCollective& collective : collectives) {
      SequenceColumns& columns = sequences_[collective.sequence];
      columns.collectives.push_back(&collective);
      for (const CommPart& part : collective.parts) columns.ranks.insert(part.rank);
      if (const auto& group = comm_of(job, collective.parts.front()).group)
        add_members(columns, *group, collective);
    }
    for (auto& [number, columns] : sequences_)
      std::sort(columns.collectives.begin(), columns.collectives.end(),
                [](const JobCollective* a, const JobCollective* b) { return a->place < b->place; });
  }

  TimelineChecks check() {
    check_ranks();
    check_devices();
    for (const auto& [number, columns] : sequences_) {
      compare_ranks(columns);
      for (const JobCollective* collective : columns.collectives) check_parts(*collective);
    }
    return {.checks = {{"timeline_order", ordered_},
                       {"timeline_sizes", sized_},
                       {"timeline_groups", grouped_},
                       {"timeline_overlap", overlapped_}},
            .findings = std::move(findings_)};
  }

 private:
  // A member that has a timeline and no communication of the group lacks all of them. Of messages
  // the other side is no member.
  void add_members(SequenceColumns& columns, std::uint32_t group, const JobCollective& collective) {
    if (is_message(comm_kind(comm_of(job_, collective.parts.front()).name))) {
      add_other_side(columns, group, collective.parts.front());
      return;
    }
    for (std::uint32_t r = 0; r < job_.ranks.size(); ++r)
      if (is_member(group, job_.ranks[r].rank)) columns.ranks.insert(r);
  }

  void add_other_side(SequenceColumns& columns, std::uint32_t group, const CommPart& part) {
    const std::vector<std::int64_t>& members = job_.groups[group].members;
    std::int64_t peer = comm_of(job_, part).peer;
    if (peer < 0 || peer >= std::int64_t(members.size())) return;
    for (std::uint32_t r = 0; r < job_.ranks.size(); ++r)
      if (job_.ranks[r].rank == members[std::size_t(peer)]) columns.ranks.insert(r);
  }

  bool is_member(std::uint32_t group, std::int64_t rank) const {
    const std::vector<std::int64_t>& members = job_.groups[group].members;
    return std::find(members.begin(), members.end(), rank) != members.end();
  }

  void error(std::string_view rule, std::uint32_t rank, std::string message) {
    findings_.push_back(error_at(rule, {.rank = job_.ranks[rank].rank}, std::move(message)));
  }

  void check_ranks() {
    std::int64_t missing = job_.world_size - std::int64_t(job_.ranks.size());
    if (missing > 0)
      findings_.push_back(
          warning_at("timeline_ranks", {},
                     fmt::format("expected {}, got {}; waiting for a rank that is missing is "
                                 "unknown, and so is which rank came last",
                                 counted(job_.world_size, "timeline"), job_.ranks.size())));
  }

  void check_devices() {
    for (const RankTimeline& rank : job_.ranks) {
      if (has_device(rank)) continue;
      auto hosts = std::size_t(
          std::count_if(rank.spans.begin(), rank.spans.end(),
                        [](const TimelineSpan& span) { return span.kind == SpanKind::host; }));
      findings_.push_back(warning_at(
          "timeline_device", {.rank = rank.rank},
          fmt::format("expected events of a device, such as kernels, got none among {} ({} of the "
                      "host{}); so times of the device are unknown",
                      counted(std::int64_t(rank.events), "event"), hosts, other_categories(rank))));
    }
  }

  static std::string other_categories(const RankTimeline& rank) {
    std::string text;
    for (const auto& [category, count] : rank.other_categories)
      text += fmt::format(", {} of category '{}'", count, category);
    return text;
  }

  std::string described(const CommPart& part) const {
    return fmt::format("{} of {} bytes at {:.1f} us", comm_name(job_, part),
                       compared_bytes(comm_of(job_, part)), span_of(job_, part).begin_us);
  }

  std::string group_words(const JobCollective& collective) const {
    const TimelineComm& comm = comm_of(job_, collective.parts.front());
    if (!comm.group) return "a group that isn't known";
    const std::vector<std::int64_t>& members = job_.groups[*comm.group].members;
    if (members.size() > 16)
      return fmt::format("the group of {} ranks from {} on", members.size(), members.front());
    return fmt::format("the group of ranks [{}]", join_text(members, ", "));
  }

  // Says the first collective of each rank that it lacks and most others have, or that it has and
  // most others lack; of two halves the one with the first rank counts as most.
  void compare_ranks(const SequenceColumns& columns) {
    if (columns.ranks.size() < 2) return;
    ordered_ += columns.collectives.size();
    for (std::uint32_t rank : columns.ranks) {
      std::size_t differences = 0, first = 0;
      for (std::size_t i = 0; i < columns.collectives.size(); ++i) {
        const JobCollective& collective = *columns.collectives[i];
        std::size_t have = collective.parts.size();
        if (have == columns.ranks.size()) continue;
        bool is_tie = 2 * have == columns.ranks.size();
        bool is_expected = is_tie ? part_of(collective, *columns.ranks.begin()) != nullptr
                                  : 2 * have > columns.ranks.size();
        bool has_it = part_of(collective, rank) != nullptr;
        if (has_it != is_expected && differences++ == 0) first = i;
      }
      if (differences > 0) report_difference(columns, rank, first, differences);
    }
  }

  void report_difference(const SequenceColumns& columns, std::uint32_t rank, std::size_t place,
                         std::size_t differences) {
    const JobCollective& collective = *columns.collectives[place];
    const CommPart* own = part_of(collective, rank);
    std::string counted_text =
        fmt::format("; {} of {} collectives differ", differences, columns.collectives.size());
    std::string where = fmt::format("collective {} of {}: ", place, group_words(collective));
    if (own)
      return error("timeline_order", rank,
                   fmt::format("{}got {}, which other ranks don't have{}", where, described(*own),
                               counted_text));
    const CommPart& other = collective.parts.front();
    std::string expected = fmt::format("{}expected {} as rank {} has it, got ", where,
                                       described(other), job_.ranks[other.rank].rank);
    std::optional<CommPart> next = next_of(columns, rank, place);
    bool is_of_kind =
        next && is_alone(columns, *next) && comm_name(job_, *next) == comm_name(job_, other);
    error(is_of_kind ? "timeline_sizes" : "timeline_order", rank,
          expected + (next ? described(*next) : "no more") + counted_text);
  }

  // The communication of a rank that comes where a collective is that it lacks.
  std::optional<CommPart> next_of(const SequenceColumns& columns, std::uint32_t rank,
                                  std::size_t place) const {
    std::size_t begin = place;
    while (begin > 0 && !part_of(*columns.collectives[begin - 1], rank)) --begin;
    if (begin > 0 && columns.collectives[begin - 1]->parts.size() == 1)
      return *part_of(*columns.collectives[begin - 1], rank);
    for (std::size_t i = place; i < columns.collectives.size(); ++i)
      if (const CommPart* part = part_of(*columns.collectives[i], rank)) return *part;
    return std::nullopt;
  }

  static bool is_alone(const SequenceColumns& columns, const CommPart& part) {
    for (const JobCollective* collective : columns.collectives)
      if (collective->parts.size() == 1 && collective->parts.front() == part) return true;
    return false;
  }

  void check_parts(const JobCollective& collective) {
    bool is_compared = collective.parts.size() > 1;
    overlapped_ += is_compared;
    if (is_compared && !times_overlap(job_, collective))
      error("timeline_overlap", collective.parts.front().rank,
            fmt::format("{} in {}: expected times that overlap those of {}, got none in common: "
                        "clocks differ, or these are several collectives",
                        described(collective.parts.front()), group_words(collective),
                        counted(std::int64_t(collective.parts.size()) - 1, "other rank")));
    for (const CommPart& part : collective.parts) {
      check_group(part);
      check_sizes(part);
      std::int64_t expected = compared_bytes(comm_of(job_, collective.parts.front()));
      if (compared_bytes(comm_of(job_, part)) != expected)
        error("timeline_sizes", part.rank,
              fmt::format("{} in {}: expected {} bytes as rank {} has it", described(part),
                          group_words(collective), expected,
                          job_.ranks[collective.parts.front().rank].rank));
    }
  }

  void check_group(const CommPart& part) {
    const TimelineComm& comm = comm_of(job_, part);
    if (!comm.group) return;
    ++grouped_;
    const std::vector<std::int64_t>& members = job_.groups[*comm.group].members;
    std::int64_t rank = job_.ranks[part.rank].rank;
    if (!is_member(*comm.group, rank))
      error("timeline_groups", part.rank,
            fmt::format("{}: expected a group with rank {}, got ranks [{}]", described(part), rank,
                        join_text(members, ", ")));
    if (comm.group_size > 0 && comm.group_size != std::int64_t(members.size()))
      error("timeline_groups", part.rank,
            fmt::format("{}: expected a group of {} ranks, got ranks [{}]", described(part),
                        comm.group_size, join_text(members, ", ")));
  }

  // Splits are one a member and add up; an all-reduce puts out what comes in.
  void check_sizes(const CommPart& part) {
    const TimelineComm& comm = comm_of(job_, part);
    if (comm.name.empty()) return;
    ++sized_;
    auto check_split = [&](const std::vector<std::int64_t>& split, std::int64_t elements,
                           std::string_view which) {
      if (split.empty()) return;
      if (comm.group_size > 0 && std::int64_t(split.size()) != comm.group_size)
        error("timeline_sizes", part.rank,
              fmt::format("{}: expected {} splits for {} ranks, got {}", described(part), which,
                          comm.group_size, split.size()));
      std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t(0));
      if (sum != 0 ? elements % sum != 0 : elements != 0)
        error("timeline_sizes", part.rank,
              fmt::format("{}: expected {} splits that add up to {} elements, or to their first "
                          "dim, got {}",
                          described(part), which, elements, sum));
    };
    check_split(comm.in_split, comm.in_elements, "input");
    check_split(comm.out_split, comm.out_elements, "output");
    if (comm_kind(comm.name) == CommKind::all_reduce && comm.in_elements > 0 &&
        comm.out_elements > 0 && comm.in_elements != comm.out_elements)
      error("timeline_sizes", part.rank,
            fmt::format("{}: expected as many elements out as in, got {} and {}", described(part),
                        comm.in_elements, comm.out_elements));
  }

  const JobTimeline& job_;
  std::map<std::uint32_t, SequenceColumns> sequences_;
  Findings findings_;
  std::size_t ordered_ = 0;
  std::size_t sized_ = 0;
  std::size_t grouped_ = 0;
  std::size_t overlapped_ = 0;
};

}  // namespace

TimelineChecks check_timelines(const JobTimeline& job,
                               const std::vector<JobCollective>& collectives) {
  return TimelineChecker(job, collectives).check();
}

bool has_device(const RankTimeline& rank) {
  return std::any_of(rank.spans.begin(), rank.spans.end(), [&](const TimelineSpan& span) {
    return span.is_of_device() && rank.tracks[span.track].is_device;
  });
}

}  // namespace simmesh::replay
