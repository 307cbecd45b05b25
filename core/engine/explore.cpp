#include "core/engine/explore.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

namespace simmesh {

namespace {

// Objects for which the order of their users matters.
using Objects = std::set<std::uint64_t>;

// Step is the work of a rank between two choices, and the objects that it touches.
struct Step {
  RankId rank = no_rank;
  std::vector<std::uint64_t> objects;

  bool depends_on(const Step& other, const Objects& sensitive) const {
    if (rank == other.rank) return true;
    return std::any_of(objects.begin(), objects.end(), [&](std::uint64_t object) {
      bool both =
          std::find(other.objects.begin(), other.objects.end(), object) != other.objects.end();
      return both && sensitive.count(object) > 0;
    });
  }
};

// Choice is one point of the schedule under exploration.
struct Choice {
  std::vector<RankId> enabled;
  std::set<RankId> to_try;   // ranks that must be tried here
  std::vector<Step> asleep;  // steps whose exploration here would repeat earlier runs
  Step taken;

  bool is_asleep(RankId rank) const {
    return std::any_of(asleep.begin(), asleep.end(),
                       [=](const Step& step) { return step.rank == rank; });
  }
};

// ExploringPolicy follows the choices made so far, then continues with the lowest rank that isn't
// asleep.
class ExploringPolicy final : public SchedulePolicy {
 public:
  ExploringPolicy(std::vector<Choice>& choices, const Objects& sensitive)
      : choices_(choices), sensitive_(sensitive) {}

  void add(RankId rank) override { runnable_.insert(rank); }

  RankId pick() override {
    if (depth_ == choices_.size()) choices_.push_back(next_choice());
    Choice& choice = choices_[depth_];
    if (choice.taken.rank == no_rank) {
      choices_.pop_back();
      return no_rank;
    }
    ++depth_;
    runnable_.erase(choice.taken.rank);
    choice.taken.objects.clear();
    return choice.taken.rank;
  }

  void touched(RankId, std::uint64_t object) override {
    choices_[depth_ - 1].taken.objects.push_back(object);
  }
  bool listens() const override { return true; }

  std::string error() const override {
    return "[engine/explore] the schedule is equivalent to an earlier one";
  }

 private:
  Choice next_choice() const {
    Choice choice;
    choice.enabled.assign(runnable_.begin(), runnable_.end());
    if (depth_ > 0)
      for (const Step& step : choices_[depth_ - 1].asleep)
        if (!step.depends_on(choices_[depth_ - 1].taken, sensitive_)) choice.asleep.push_back(step);
    for (RankId rank : choice.enabled) {
      if (choice.is_asleep(rank)) continue;
      choice.taken.rank = rank;
      choice.to_try.insert(rank);
      break;
    }
    return choice;
  }

  std::vector<Choice>& choices_;
  const Objects& sensitive_;
  std::set<RankId> runnable_;
  std::size_t depth_ = 0;
};

// If two steps of different ranks touch one order-sensitive object, the later rank must also be
// tried in the earlier's place.
void add_races(std::vector<Choice>& choices, const std::vector<Touch>& touches) {
  for (std::size_t later = 0; later < touches.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Touch& a = touches[earlier];
      const Touch& b = touches[later];
      if (a.object != b.object || a.rank == b.rank) continue;
      if (a.step == 0 || a.step > choices.size()) continue;
      Choice& choice = choices[std::size_t(a.step - 1)];
      bool enabled = std::binary_search(choice.enabled.begin(), choice.enabled.end(), b.rank);
      if (enabled)
        choice.to_try.insert(b.rank);
      else
        choice.to_try.insert(choice.enabled.begin(), choice.enabled.end());
    }
  }
}

// Goes back to the last choice with something left to try. False when nothing is left.
bool next_schedule(std::vector<Choice>& choices) {
  while (!choices.empty()) {
    Choice& choice = choices.back();
    choice.asleep.push_back(choice.taken);
    for (RankId rank : choice.to_try) {
      if (choice.is_asleep(rank)) continue;
      choice.taken = {rank, {}};
      return true;
    }
    choices.pop_back();
  }
  return false;
}

void note(Exploration& found, Outcome outcome, const std::vector<Choice>& choices) {
  bool is_first = found.classes++ == 0;
  if (is_first) found.data_hash = outcome.data_hash;
  bool differs = outcome.data_hash != found.data_hash;
  found.one_data_hash &= !differs;
  if ((outcome.ok() && !differs) || found.first_failure) return;
  outcome.choices.clear();
  for (const Choice& choice : choices) outcome.choices.push_back(choice.taken.rank);
  outcome.repro.schedule = "choices:" + choices_to_string(outcome.choices);
  found.first_failure = std::move(outcome);
}

// True if the run used objects that no earlier run did.
bool learn(Objects& sensitive, const std::vector<Touch>& touches) {
  std::size_t known = sensitive.size();
  for (const Touch& touch : touches) sensitive.insert(touch.object);
  return sensitive.size() > known;
}

}  // namespace

Exploration explore(const WorldOptions& options, const std::function<void(Rank&)>& body,
                    const ExploreOptions& limits) {
  std::vector<Choice> choices;
  Objects sensitive;
  WorldOptions exploring = options;
  exploring.schedule = Schedule::custom("exhaustive", [&](std::size_t, std::uint64_t) {
    return std::make_unique<ExploringPolicy>(choices, sensitive);
  });
  World world(exploring);
  Exploration found;
  for (std::uint64_t run = 0; run < limits.runs_max; ++run) {
    if (limits.goes_on && !limits.goes_on(found)) break;
    Outcome outcome = world.run(body);
    if (outcome.was_interrupted()) {
      if (limits.goes_on) limits.goes_on(found);
      break;
    }
    // A run that was cut short before may have depended on an object that only shows now.
    if (learn(sensitive, outcome.touches) && run > 0) {
      choices.clear();
      found = {};
      continue;
    }
    add_races(choices, outcome.touches);
    bool is_cut = outcome.failure && outcome.failure->kind == Failure::Kind::schedule;
    if (is_cut)
      ++found.cut_short;
    else
      note(found, std::move(outcome), choices);
    if (next_schedule(choices)) continue;
    found.complete = true;
    break;
  }
  if (found.ok() && found.classes == 1 && sensitive.empty())
    found.certificate =
        "all schedules are equivalent: no receive from any source, no Work::is_completed, no "
        "Shared state; other variables that ranks share are not watched";
  return found;
}

}  // namespace simmesh
