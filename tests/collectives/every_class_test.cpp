#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "core/engine/deputy.h"
#include "core/engine/explore.h"
#include "core/engine/run/shared.h"
#include "core/engine/search/run_order.h"

namespace simmesh {
namespace {

// Program is a small program of ranks: each letter is a thing that its rank does.
//   x y  a use of Shared state, twice in X        b  a barrier
//   0 1 2  a message to that rank (isend)         r  a receive from any source, N one of rank 0
//   c  starts an all-reduce                       q  asks whether the newest work has completed
//   w  waits for all works                        t  waits for the newest work for a second
//   s  sleeps for a second                        f  fails
//   d  lets the deputy use x                      p  asks whether the deputy is done
//   j  waits for the deputy
struct Program {
  std::vector<std::string> ranks;

  std::string text() const {
    std::string all;
    for (const std::string& rank : ranks) all += (all.empty() ? "" : "|") + rank;
    return all;
  }
  bool has(char letter) const { return text().find(letter) != std::string::npos; }
};

// State is what the ranks of a run share.
struct State {
  Shared<std::uint64_t> x{"x", 1}, y{"y", 1};
};

class Actor {
 public:
  Actor(Rank& rank, State& state) : rank_(rank), state_(state), world_(ProcessGroup::world()) {}

  void act(char letter) {
    auto number = std::uint64_t(rank_.id()) + 2;
    if (letter == 'x')
      rank_.record(state_.x.use([=](auto& value) { return value = value * number; }));
    if (letter == 'y')
      rank_.record(state_.y.use([=](auto& value) { return value = value + number; }));
    if (letter == 'b') barrier(world_);
    if (letter >= '0' && letter <= '2')
      works_.push_back(isend(full({1}, DType::int64, rank_.id()), {.peer = letter - '0'}, world_));
    if (letter == 'r') works_.push_back(irecv(Dims{1}, DType::int64, {}, world_));
    if (letter == 'N') works_.push_back(irecv(Dims{1}, DType::int64, {.peer = 0}, world_));
    if (letter == 'c')
      works_.push_back(all_reduce_async(full({1}, DType::int64, 1), ReduceOp::sum, world_));
    if (letter == 'q' && !works_.empty()) rank_.record(std::uint64_t(works_.back().is_completed()));
    if (letter == 't' && !works_.empty())
      rank_.record(std::uint64_t(works_.back().wait_until(rank_.seconds() + 1)));
    if (letter == 'w')
      for (Work& work : works_) work.wait();
    if (letter == 's') rank_.sleep(1);
    if (letter == 'f') raise(ErrorKind::value_error, "test", "rank {} fails", rank_.id());
    if (letter == 'd')
      task_ = Deputy::of_this_rank(0).start(
          [&state = state_] { state.x.use([](auto& value) { value = value * 7; }); });
    if (letter == 'p' && task_) rank_.record(std::uint64_t(task_->is_done()));
    if (letter == 'j' && task_) task_->wait();
  }

 private:
  Rank& rank_;
  State& state_;
  ProcessGroup world_;
  std::vector<Work> works_;
  std::optional<DeputyTask> task_;
};

std::function<void(Rank&)> body_of(const Program& program, State& state) {
  return [&](Rank& rank) {
    Actor actor(rank, state);
    for (char letter : program.ranks[rank.id()]) actor.act(letter);
  };
}

// Returns a body whose runs share nothing with one another.
std::function<void(Rank&)> fresh_body(const Program& program) {
  struct Fresh {
    std::uint32_t run_number = 0;
    std::unique_ptr<State> state;
  };
  return [&program, fresh = std::make_shared<Fresh>()](Rank& rank) {
    if (fresh->run_number != rank.run_number()) {
      fresh->run_number = rank.run_number();
      fresh->state = std::make_unique<State>();
    }
    body_of(program, *fresh->state)(rank);
  };
}

WorldOptions world_of(const Program& program) {
  return {.ranks = program.ranks.size(), .deputies = program.has('d') ? 1u : 0u};
}

// Choices is a schedule that is enumerated by depth-first search over all choices, without any
// knowledge of which of them matter.
struct Choices {
  struct At {
    std::vector<RankId> runnable;
    std::size_t taken = 0;
  };
  std::vector<At> made;

  bool next() {
    while (!made.empty() && ++made.back().taken == made.back().runnable.size()) made.pop_back();
    return !made.empty();
  }
};

// EveryChoice runs one of these schedules, and writes down which events happened.
class EveryChoice final : public SchedulePolicy, public ScheduleListener {
 public:
  struct Event {
    RankId rank;
    std::vector<Access> accesses;
  };
  struct Notes {
    Choices choices;
    bool splits = false;
    std::vector<Event> events;
    KnownOrders learned;
  };

  explicit EveryChoice(Notes& notes) : notes_(notes) { notes_.events.clear(); }

  void add(RankId rank) override { runnable_.insert(rank); }
  RankId pick() override {
    if (depth_ == notes_.choices.made.size())
      notes_.choices.made.push_back({{runnable_.begin(), runnable_.end()}});
    const Choices::At& at = notes_.choices.made[depth_++];
    RankId rank = at.runnable[at.taken];
    runnable_.erase(rank);
    if (auto found = announced_.find(rank); found != announced_.end()) {
      notes_.events.push_back({rank, found->second});
      announced_.erase(found);
    }
    return rank;
  }
  void announce(RankId rank, gsl::span<const Access> accesses) override {
    announced_[rank].assign(accesses.begin(), accesses.end());
  }
  bool splits_steps() const override { return notes_.splits; }
  void adds_keep_order(std::uint64_t object) override { notes_.learned.kept.insert(object); }
  void need_split_steps() override { notes_.learned.splits_steps = true; }

 private:
  Notes& notes_;
  std::set<RankId> runnable_;
  std::map<RankId, std::vector<Access>> announced_;
  std::size_t depth_ = 0;
};

// The class of a run: for each event of each rank, the events of other ranks that come before it
// and that it depends on.
std::string class_of(const std::vector<EveryChoice::Event>& events, const KnownOrders& known) {
  std::map<RankId, std::size_t> counts;
  std::vector<std::string> names;
  std::map<std::string, std::string> lines;
  for (std::size_t i = 0; i < events.size(); ++i) {
    names.push_back(fmt::format("{}.{}", events[i].rank, counts[events[i].rank]++));
    std::string line;
    for (const Access& access : events[i].accesses)
      line += fmt::format(" {:x}/{}", access.object, int(access.kind));
    std::set<std::string> before;
    for (std::size_t j = 0; j < i; ++j)
      if (events[j].rank != events[i].rank && known.depend(events[j].accesses, events[i].accesses))
        before.insert(names[j]);
    for (const std::string& name : before) line += " " + name;
    lines[names.back()] = line;
  }
  std::string text;
  for (const auto& [name, line] : lines) text += name + line + "\n";
  return text;
}

struct Counted {
  std::set<std::string> classes;
  std::set<std::uint64_t> hashes;
  std::uint64_t runs = 0;
};

// Runs all schedules. Returns nothing if there are too many.
std::optional<Counted> count_by_force(const Program& program, std::uint64_t runs_max) {
  EveryChoice::Notes notes;
  WorldOptions options = world_of(program);
  options.schedule = Schedule::custom("every choice", [&](std::size_t, std::uint64_t) {
    return std::make_unique<EveryChoice>(notes);
  });
  State* state = nullptr;
  World world(options);
  auto body = [&](Rank& rank) { body_of(program, *state)(rank); };
  for (notes.splits = false;; notes.splits = true) {
    std::vector<std::vector<EveryChoice::Event>> all;
    Counted counted;
    notes.choices = {};
    do {
      if (counted.runs++ == runs_max) return std::nullopt;
      State fresh;
      state = &fresh;
      counted.hashes.insert(world.run(body).data_hash);
      all.push_back(notes.events);
    } while (notes.choices.next());
    if (notes.learned.splits_steps && !notes.splits) continue;
    for (const auto& events : all) counted.classes.insert(class_of(events, notes.learned));
    return counted;
  }
}

std::vector<Program> programs() {
  // The programs of two ranks are all pairs of these lines, and those of three ranks some triples.
  const std::vector<std::string> lines = {"x",   "xy",  "yx",  "xx",  "bx", "xb", "cq",  "cw",
                                          "cqw", "cxw", "1w",  "0w",  "rw", "Nw", "rqw", "0q",
                                          "ctx", "rt",  "s0w", "srt", "xf", "dx", "dpx", "dj"};
  std::vector<Program> all;
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (std::size_t j = i; j < lines.size(); ++j) all.push_back({{lines[i], lines[j]}});
  for (const char* first : {"x", "xy", "rrw", "rrx", "cqw", "cq", "rt", "bx", "ctx", "rqrw"})
    for (const char* second : {"x", "0w", "0wx", "c", "cx", "b", "s0"})
      for (const char* third : {"x", "yx", "0w", "x0w", "c", "cq", "b", "f"})
        all.push_back({{first, second, third}});
  return all;
}

// If this fails, a search leaves out a class of schedules, or runs one twice.
TEST(EveryClass, IsRunOnceInSmallPrograms) {
  std::uint64_t compared = 0, most = 0;
  for (const Program& program : programs()) {
    std::optional<Counted> counted = count_by_force(program, 3'000);
    if (!counted) continue;
    for (std::size_t jobs : {1u, 2u, 4u}) {
      Exploration found =
          explore_each(world_of(program), [&] { return fresh_body(program); }, {.jobs = jobs});
      EXPECT_TRUE(found.complete) << program.text();
      EXPECT_EQ(found.classes, counted->classes.size()) << program.text();
      EXPECT_EQ(found.one_data_hash, counted->hashes.size() == 1) << program.text();
      EXPECT_EQ(found.estimate, double(found.classes)) << program.text();
    }
    ++compared;
    most = std::max<std::uint64_t>(most, counted->classes.size());
    if (HasNonfatalFailure()) break;
  }
  EXPECT_GE(compared, 200u);
  EXPECT_GE(most, 20u);
}

// If this fails, the answer to a question tells arrivals apart whose order it can't see.
TEST(EveryClass, ArrivalsThatARankAsksAboutCommute) {
  for (auto [ranks, classes] : {std::pair(2u, 2u), std::pair(3u, 4u), std::pair(4u, 8u)}) {
    Program program{{"cqw"}};
    for (std::uint32_t rank = 1; rank < ranks; ++rank) program.ranks.push_back("cw");
    Exploration found = explore(world_of(program), fresh_body(program));
    EXPECT_EQ(found.classes, classes) << ranks << " ranks: each arrival is early or late";
  }
}

}  // namespace
}  // namespace simmesh
