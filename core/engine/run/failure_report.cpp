#include "core/engine/run/failure_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "core/check/join_text.h"
#include "core/engine/reports/activity.h"

namespace simmesh {

namespace {

constexpr std::size_t described_ranks_max = 64;

std::string names_of(const WorldOptions& options, const std::vector<RankId>& ids) {
  std::vector<std::string> names;
  for (RankId id : ids) names.push_back(name_of(options, id));
  return join_text(names, " -> ");
}

std::string without_last_newline(std::string lines) {
  if (!lines.empty()) lines.pop_back();
  return lines;
}

}  // namespace

std::size_t FailureReport::unfinished() const {
  return std::size_t(std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) {
    return seat.state != Seat::State::finished && seat.state != Seat::State::idle;
  }));
}

// Goes from the first blocked rank to the first rank that it waits for, and so on, until a rank
// comes up twice or has returned.
std::string FailureReport::describe_cycle() const {
  std::vector<RankId> path;
  RankId at = no_rank;
  for (const Seat& seat : seats_)
    if (seat.state == Seat::State::blocked && at == no_rank) at = seat.rank.id();
  while (at != no_rank) {
    auto seen = std::find(path.begin(), path.end(), at);
    if (seen != path.end())
      return "  cycle: " + names_of(options_, {seen, path.end()}) + " -> " + name_of(options_, at);
    path.push_back(at);
    const Seat& seat = seats_[at];
    if (seat.state == Seat::State::finished)
      return "  chain: " + names_of(options_, path) + ", which has returned";
    if (!seat.activity || !seat.activity->waits_for) break;
    std::vector<RankId> missing = seat.activity->waits_for->missing_ranks();
    if (missing.empty())
      return "  " + name_of(options_, at) + " waits for any rank; none is left to send";
    at = missing.front();
  }
  return {};
}

// Compares the ranks' calls in program order and describes the first place where they are not all
// the same.
std::string FailureReport::describe_divergence() const {
  if (trace_.recorded() > trace_.size())
    return fmt::format(
        "  first call that differs: unknown, only the newest {} of {} events are kept",
        trace_.size(), trace_.recorded());
  std::vector<std::vector<const Event*>> calls(seats_.size());
  for (std::size_t i = 0; i < trace_.size(); ++i) {
    const Event& event = trace_[i];
    bool is_call = event.kind == EventKind::arrive || event.kind == EventKind::send ||
                   event.kind == EventKind::receive;
    if (is_call) calls[event.rank].push_back(&event);
  }
  std::size_t longest = 0;
  for (const auto& list : calls) longest = std::max(longest, list.size());
  for (std::size_t call = 0; call < longest; ++call) {
    std::map<std::string, std::vector<RankId>> groups;
    for (std::size_t rank = 0; rank < options_.ranks; ++rank) {
      if (!runs(options_, RankId(rank))) continue;
      const Event* event = call < calls[rank].size() ? calls[rank][call] : nullptr;
      std::string text = event ? fmt::format("{} of {} elements", event->operation, event->elements)
                               : std::string("no call");
      groups[text].push_back(RankId(rank));
    }
    if (groups.size() == 1) continue;
    std::string text = fmt::format("  first call that differs, number {} of each rank:", call + 1);
    for (const auto& [what, ranks] : groups) {
      const Event* event =
          call < calls[ranks.front()].size() ? calls[ranks.front()][call] : nullptr;
      std::size_t shown = std::min<std::size_t>(ranks.size(), 8);
      text +=
          fmt::format("\n    {} by rank{} {}{}{}", what, ranks.size() == 1 ? "" : "s",
                      join_text(gsl::span(ranks).first(shown), ", "),
                      shown < ranks.size() ? fmt::format(" and {} more", ranks.size() - shown) : "",
                      event ? " at " + to_string(event->site) : "");
    }
    return text;
  }
  return {};
}

std::string FailureReport::describe_ranks(RankId except) const {
  std::string text;
  std::size_t described = 0;
  for (const Seat& seat : seats_) {
    if (seat.rank.id() == except || !runs(options_, seat.rank.id())) continue;
    if (seat.state == Seat::State::idle) continue;
    if (described++ == described_ranks_max)
      return text + fmt::format("  ... and {} more ranks\n", seats_.size() - seat.rank.id());
    std::string what = seat.exception ? "failed: " + message_of(seat.exception)
                       : seat.state == Seat::State::finished ? "had returned"
                       : seat.activity ? "waited in " + describe(*seat.activity, seat.rank.id())
                                       : "could have run";
    text += fmt::format("  {}: {}\n", name_of(options_, seat.rank.id()), what);
  }
  return text;
}

std::optional<Failure> FailureReport::of_rank() const {
  for (const Seat& seat : seats_) {
    if (!seat.exception) continue;
    Failure failure;
    failure.rank = rank_behind(options_, seat.rank.id());
    failure.exception = seat.exception;
    failure.message = message_of(seat.exception);
    failure.details = without_last_newline(describe_ranks(seat.rank.id()));
    return failure;
  }
  return {};
}

Failure FailureReport::of_standstill(const Picks& picks) const {
  if (!picks.error().empty()) return {.kind = Failure::Kind::schedule, .message = picks.error()};
  if (picks.was_interrupted())
    return {
        .kind = Failure::Kind::interrupt,
        .message = fmt::format("[engine/interrupt] interrupted, {} of {} ranks have not returned",
                               unfinished(), seats_.size()),
        .details = without_last_newline(describe_ranks(no_rank))};
  std::string details = describe_ranks(no_rank);
  for (const std::string& part : {describe_cycle(), describe_divergence()})
    if (!part.empty()) details += part + "\n";
  return {.kind = Failure::Kind::deadlock,
          .message = fmt::format("[engine/deadlock] no rank can run, {} of {} have not returned",
                                 unfinished(), seats_.size()),
          .details = without_last_newline(std::move(details))};
}

}  // namespace simmesh
