#include "core/engine/run/failure_report.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "core/engine/reports/activity.h"
#include "core/engine/run/rank_threads.h"

namespace simmesh {

namespace {

constexpr std::size_t described_ranks_max = 64;
constexpr std::size_t differences_max = 4;

std::string without_last_newline(std::string lines) {
  if (!lines.empty()) lines.pop_back();
  return lines;
}

}  // namespace

FailureReport::Counts FailureReport::counts() const {
  Counts counts;
  for (const Seat& seat : seats_) {
    bool has_finished = seat.state == Seat::State::finished;
    if (has_finished && RankThreads::is_thread(options_, seat.rank.id())) continue;
    ++counts.all;
    if (!has_finished && seat.state != Seat::State::idle) ++counts.unfinished;
  }
  return counts;
}

std::string FailureReport::name_of(RankId id) const {
  if (!RankThreads::is_thread(options_, id)) return simmesh::name_of(options_, id);
  return fmt::format("rank {}, thread {}", rank_behind(options_, id), threads_->work(id).name);
}

std::string FailureReport::names_of(const std::vector<RankId>& ids) const {
  std::vector<std::string> names;
  for (RankId id : ids) names.push_back(name_of(id));
  return join_text(names, " -> ");
}

// Goes from the first blocked rank to the first rank that it waits for, and so on.
FailureReport::Chain FailureReport::follow() const {
  Chain chain;
  RankId at = no_rank;
  for (const Seat& seat : seats_)
    if (seat.state == Seat::State::blocked && at == no_rank) at = seat.rank.id();
  while (at != no_rank) {
    auto seen = std::find(chain.path.begin(), chain.path.end(), at);
    chain.cycle_begin = std::size_t(seen - chain.path.begin());
    if (seen != chain.path.end()) return chain;
    chain.path.push_back(at);
    const Seat& seat = seats_[at];
    bool waits = seat.state != Seat::State::finished && seat.activity && seat.activity->waits_for;
    std::vector<RankId> missing;
    if (waits) missing = seat.activity->waits_for->missing_ranks();
    at = missing.empty() ? no_rank : missing.front();
  }
  chain.cycle_begin = chain.path.size();
  return chain;
}

std::string FailureReport::describe_chain(const Chain& chain) const {
  if (chain.path.empty()) return {};
  if (chain.cycle_begin < chain.path.size()) {
    std::vector<RankId> cycle(chain.path.begin() + std::ptrdiff_t(chain.cycle_begin),
                              chain.path.end());
    return "  cycle: " + names_of(cycle) + " -> " + name_of(cycle.front());
  }
  const Seat& last = seats_[chain.path.back()];
  if (last.state == Seat::State::finished)
    return "  chain: " + names_of(chain.path) + ", which has returned";
  if (!last.activity || !last.activity->waits_for) return {};
  return "  " + name_of(last.rank.id()) + " waits for any rank; none is left to send";
}

// Describes the calls in which the ranks of a cycle differ, or the last one of a chain: the ranks
// before it only wait for those behind.
std::string FailureReport::describe_differences(const Chain& chain) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < chain.path.size(); ++i) {
    const Seat& seat = seats_[chain.path[i]];
    if (seat.state == Seat::State::finished || !seat.activity || !seat.activity->waits_for)
      continue;
    std::string text = seat.activity->waits_for->difference();
    if (text.empty()) continue;
    if (i < chain.cycle_begin) texts.clear();
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  if (texts.size() > differences_max) texts.resize(differences_max);
  for (std::string& text : texts) text.insert(0, "  first call that differs, ");
  return join_text(texts, "\n");
}

std::string FailureReport::describe_ranks(RankId except) const {
  std::string text;
  std::size_t described = 0;
  for (const Seat& seat : seats_) {
    if (seat.rank.id() == except || !runs(options_, seat.rank.id())) continue;
    if (seat.state == Seat::State::idle) continue;
    bool has_returned = seat.state == Seat::State::finished && !seat.exception;
    if (has_returned && RankThreads::is_thread(options_, seat.rank.id())) continue;
    if (described++ == described_ranks_max)
      return text + fmt::format("  ... and {} more ranks\n", seats_.size() - seat.rank.id());
    std::string what = seat.exception  ? "failed: " + message_of(seat.exception)
                       : has_returned  ? "had returned"
                       : seat.activity ? "waited in " + describe(*seat.activity, seat.rank.id())
                                       : "could have run";
    text += fmt::format("  {}: {}\n", name_of(seat.rank.id()), what);
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
  if (!picks.error().empty())
    return {
        .kind = Failure::Kind::schedule, .message = picks.error(), .exception = picks.shortage()};
  if (picks.was_interrupted())
    return {
        .kind = Failure::Kind::interrupt,
        .message = fmt::format("[engine/interrupt] interrupted, {} of {} ranks have not returned",
                               counts().unfinished, counts().all),
        .details = without_last_newline(describe_ranks(no_rank))};
  std::string details = describe_ranks(no_rank);
  Chain chain = follow();
  for (const std::string& part : {describe_chain(chain), describe_differences(chain)})
    if (!part.empty()) details += part + "\n";
  return {.kind = Failure::Kind::deadlock,
          .message = fmt::format("[engine/deadlock] no rank can run, {} of {} have not returned",
                                 counts().unfinished, counts().all),
          .details = without_last_newline(std::move(details))};
}

}  // namespace simmesh
