#include "core/engine/explore.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/check/error.h"
#include "core/check/read_file.h"
#include "core/check/write_file.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/search/order_policy.h"
#include "core/engine/search/search_state.h"

namespace simmesh {

namespace {

// Returns a function that runs a body in a World of its own under orders of events. Both must
// outlive it.
RunOrderFunction runner(const WorldOptions& options, std::function<void(Rank&)> body,
                        const KnownOrders& known) {
  struct Place {
    std::function<void(Rank&)> body;
    OrderPolicy::Notes* notes = nullptr;
    std::optional<World> world;
  };
  auto place = std::make_shared<Place>();
  place->body = std::move(body);
  WorldOptions exploring = options;
  exploring.schedule =
      Schedule::custom("exhaustive", [at = place.get()](std::size_t, std::uint64_t) {
        return std::make_unique<OrderPolicy>(*at->notes);
      });
  place->world.emplace(std::move(exploring));
  return [place, &known](const EventOrder& order) {
    OrderPolicy::Notes notes(order, known);
    place->notes = &notes;
    OrderedRun ran{.outcome = place->world->run(place->body)};
    if (ran.outcome.failure && ran.outcome.failure->kind == Failure::Kind::schedule)
      raise(ErrorKind::runtime_error, "engine/explore", "{}", ran.outcome.failure->message);
    ran.next = next_orders(notes.run);
    ran.learned = std::move(notes.learned);
    ran.outcome.choices = std::move(notes.choices);
    return ran;
  };
}

// The parts of a search that run side by side, and the runs that each of them makes before the
// results are gathered. Neither depends on the number of jobs, so that the results don't either.
constexpr std::size_t parts_max = 32;
constexpr std::uint64_t runs_of_part_max = 256;
// The orders that wait for each shard before the shards part.
constexpr std::size_t orders_of_shard = 8;

SearchState read_state(const std::string& file) {
  return search_state_from(read_file({.where = "engine/search",
                                      .what = "the file of a search",
                                      .path = file,
                                      .bytes_max = std::size_t(1) << 32}));
}

class Search {
 public:
  Search(const WorldOptions& options, const MakeBody& make_body, const ExploreOptions& limits)
      : options_(options), make_body_(make_body), limits_(limits) {
    state_ = first_state();
    if (state_.parts.empty() && !state_.has_begun) start();
  }

  Exploration all() {
    while (!is_complete() && findings().classes < limits_.runs_max && asks_to_go_on()) {
      bool goes_on = state_.has_begun ? run_round() : begin();
      write_state();
      if (!goes_on) break;
    }
    write_state();
    Exploration found = so_far();
    found.complete = is_complete();
    if (found.complete && limits_.shards == 1) found.estimate = double(found.classes);
    if (findings().failed) found.first_failure = replayable(*findings().failed);
    if (found.ok() && found.classes == 1 && limits_.shards == 1 && !state_.has_touches)
      found.certificate =
          "all schedules are equivalent: no receive from any source, no Work::is_completed, no "
          "Shared state; other variables that ranks share are not watched";
    return found;
  }

 private:
  struct PartResult {
    SearchPart part;
    SearchFindings findings;
    KnownOrders known;
  };

  // Returns the state in the file, if there is one, or that of the shards, or none.
  SearchState first_state() const {
    JobShard shard{limits_.shard, limits_.shards};
    SearchState state{.program = limits_.program, .shard = shard};
    if (!limits_.file.empty() && std::filesystem::exists(limits_.file)) {
      state = read_state(limits_.file);
    } else if (!limits_.merged.empty()) {
      std::vector<SearchState> shards;
      for (const std::string& file : limits_.merged) shards.push_back(read_state(file));
      state = united(std::move(shards));
    }
    if (state.program != limits_.program || !(state.shard == shard))
      raise(ErrorKind::value_error, "engine/search",
            "expected the file of shard {}/{} of this search, got one of shard {}/{}{}",
            shard.index, shard.count, state.shard.index, state.shard.count,
            state.program == limits_.program ? "" : " of another program or other options");
    return state;
  }

  void start() {
    state_.given_up += findings().classes;
    state_.parts.clear();
    state_.parts.emplace_back(std::vector<WaitingOrder>{{}});
    state_.findings = {};
    state_.has_begun = false;
    runs_of_part_ = 1;
  }

  void start_knowing(KnownOrders known) {
    state_.known = std::move(known);
    ++state_.given_up;
    start();
  }

  const SearchFindings& findings() const { return state_.findings; }
  bool is_complete() const { return state_.has_begun && state_.parts.empty(); }

  void write_state() const {
    if (!limits_.file.empty()) write_file(limits_.file, state_.to_text(), "the state of a search");
  }

  Exploration so_far() const {
    Exploration found{.classes = findings().classes,
                      .given_up = state_.given_up,
                      .data_hash = state_.data_hash,
                      .one_data_hash = findings().one_data_hash};
    if (findings().share_done > 0) found.estimate = double(found.classes) / findings().share_done;
    return found;
  }

  bool asks_to_go_on() const { return !limits_.goes_on || limits_.goes_on(so_far()); }

  // Runs the first class, whose data hash all others must have, and those in which the shards part.
  // False if the search was interrupted.
  bool begin() {
    RunOrderFunction run = runner(options_, make_body_(), state_.known);
    OrderedRun first = run({});
    state_.data_hash = first.outcome.data_hash;
    state_.has_touches = !first.outcome.touches.empty();
    bool has_first = false;
    RunOrderFunction each = [&](const EventOrder& order) {
      return std::exchange(has_first, true) ? run(order) : std::move(first);
    };
    std::deque<WaitingOrder> waiting{{}};
    while (!waiting.empty() && (!has_first || waiting.size() < fan())) {
      SearchPart one({waiting.front()});
      waiting.pop_front();
      SearchFindings seen;
      KnownOrders known = one.run(1, each, state_.known, state_.data_hash, seen);
      if (seen.is_interrupted) {
        start();
        asks_to_go_on();
        return false;
      }
      if (!(known == state_.known)) {
        start_knowing(std::move(known));
        return true;
      }
      if (limits_.shard == 1) state_.findings.add(seen);
      waiting.insert(waiting.end(), one.waiting().rbegin(), one.waiting().rend());
    }
    state_.has_begun = true;
    keep_own(waiting);
    return true;
  }

  // Returns the number of orders that wait when the shards part.
  std::size_t fan() const {
    return limits_.shards == 1 ? 1 : orders_of_shard * std::size_t(limits_.shards);
  }

  void keep_own(const std::deque<WaitingOrder>& waiting) {
    std::vector<WaitingOrder> own;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (i % limits_.shards == limits_.shard - 1) own.push_back(waiting[i]);
    state_.parts.clear();
    if (!own.empty()) state_.parts.emplace_back(std::move(own));
  }

  // Splits the largest parts until there are enough.
  void balance() {
    std::vector<SearchPart>& parts = state_.parts;
    while (parts.size() < parts_max) {
      auto largest = std::max_element(
          parts.begin(), parts.end(),
          [](const SearchPart& one, const SearchPart& other) { return one.size() < other.size(); });
      if (largest->size() < 2) return;
      SearchPart half = largest->split_off();
      parts.push_back(std::move(half));
    }
  }

  // Returns the runs that each part may make.
  std::vector<std::uint64_t> budgets_of(const std::vector<SearchPart>& parts) const {
    std::vector<std::uint64_t> runs;
    std::uint64_t left = limits_.runs_max - findings().classes;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      runs.push_back(std::min(left, runs_of_part_));
      left -= runs.back();
    }
    return runs;
  }

  // Lets all parts make some runs. False if the search was interrupted.
  bool run_round() {
    balance();
    const std::vector<SearchPart> parts = std::move(state_.parts);
    std::vector<std::uint64_t> runs = budgets_of(parts);
    state_.parts.clear();
    KnownOrders known = state_.known;
    std::size_t gathered = 0;
    run_ordered<PartResult>(
        {.count = parts.size(),
         .threads = limits_.jobs,
         .goes_on = [&] { return asks_to_go_on(); }},
        [&] {
          RunOrderFunction run = runner(options_, make_body_(), state_.known);
          return [&, run](std::uint64_t i) {
            PartResult result{.part = parts[std::size_t(i)]};
            result.known = result.part.run(runs[std::size_t(i)], run, state_.known,
                                           state_.data_hash, result.findings);
            return result;
          };
        },
        [&](std::uint64_t, PartResult result) {
          ++gathered;
          state_.findings.add(result.findings);
          if (!result.part.empty()) state_.parts.push_back(std::move(result.part));
          known.add(result.known);
          return !findings().is_interrupted && known == state_.known;
        });
    // Parts whose results were not gathered are still to be run.
    bool goes_on = gathered == parts.size() && !findings().is_interrupted;
    state_.parts.insert(state_.parts.end(), parts.begin() + std::ptrdiff_t(gathered), parts.end());
    runs_of_part_ = std::min(2 * runs_of_part_, runs_of_part_max);
    if (known == state_.known) return goes_on;
    start_knowing(std::move(known));
    return true;
  }

  // Returns the failing run. Where its steps are those of any other schedule, its choices replay
  // it. Otherwise a schedule with the same choices may do so, or else the steps are split again.
  Outcome replayable(const EventOrder& order) const {
    Outcome outcome = runner(options_, make_body_(), state_.known)(order).outcome;
    std::string choices = choices_to_string(outcome.choices);
    outcome.repro.schedule = "choices:" + choices;
    if (!state_.known.splits_steps) return outcome;
    WorldOptions options = options_;
    options.schedule = Schedule::guided(outcome.choices);
    options.record_choices = true;
    Outcome again = World(options).run(make_body_());
    std::string expected = outcome.failure ? outcome.failure->message : "";
    if (again.data_hash == outcome.data_hash &&
        (again.failure ? again.failure->message : "") == expected) {
      again.repro.schedule = "choices:" + choices_to_string(again.choices);
      return again;
    }
    outcome.repro.schedule = "choices:split:" + choices;
    return outcome;
  }

  const WorldOptions& options_;
  const MakeBody& make_body_;
  const ExploreOptions& limits_;
  SearchState state_;
  std::uint64_t runs_of_part_ = 1;
};

}  // namespace

Exploration explore(const WorldOptions& options, const std::function<void(Rank&)>& body,
                    const ExploreOptions& limits) {
  return explore_each(
      options, [&] { return body; }, limits);
}

Exploration explore_each(const WorldOptions& options, const MakeBody& make_body,
                         const ExploreOptions& limits) {
  return Search(options, make_body, limits).all();
}

}  // namespace simmesh
