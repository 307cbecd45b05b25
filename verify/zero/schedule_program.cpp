#include "verify/zero/schedule_program.h"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace simmesh {

namespace {

using nlohmann::json;

// ProgramCheck goes through the driving events once. Each of its functions returns the expectation
// that an event breaks, in words; an empty text for none.
class ProgramCheck {
 public:
  explicit ProgramCheck(const ScheduleCase& schedule) : schedule_(schedule) {}

  std::string take(const json& event) {
    std::string name = event[0];
    if (has_ended_) return "no event after the end";
    if (iteration_ >= 0 && (name == "ITER" || name == "END"))
      if (std::string expected = compare_passes(); !expected.empty()) return expected;
    note_pass(event);
    if (name == "EXCEPTION") {
      has_ended_ = true;
      return "";
    }
    if (name == "ITER" || name == "END") return take_border(event);
    if (iteration_ < 0) return "ITER first";
    if (!has_reset_) {
      has_reset_ = name == "reset";
      return has_reset_ ? "" : "reset after ITER";
    }
    if (name == "fetch_begin") return enter(event[2], event[3] == "F");
    if (name == "rel_begin") return leave(event[2], event[3] == "F");
    if (name == "external") return add_external(event[1], event[2]);
    if (name == "unexternal") return remove_external(event[1], event[2]);
    if (name == "grad") return gradient(event[1]);
    return take_ending(name);
  }

  std::string end() const { return has_ended_ ? "" : "END or EXCEPTION"; }

 private:
  // The events after a backward pass, in order.
  static constexpr const char* endings[] = {"grad_end", "leftovers", "STEP", "release_all"};

  bool trains() const {
    return schedule_.phases[std::size_t(iteration_)] == ScheduleCase::Phase::train;
  }

  std::size_t endings_of_iteration() const {
    if (!trains()) return 0;
    return schedule_.has_optimizer && trained_ % schedule_.gas == 0 ? 4 : 3;
  }

  void note_pass(const json& event) {
    std::string name = event[0];
    if (name == "fetch_begin" || name == "rel_begin") {
      calls_.emplace_back(name, event[2].get<std::int64_t>());
      passes_ += event[3].get<std::string>();
    } else if (name == "grad") {
      calls_.emplace_back(name, event[1].get<std::int64_t>());
    }
  }

  // Iterations with the same calls have them in the same passes.
  std::string compare_passes() {
    auto [known, is_new] = known_passes_.emplace(std::move(calls_), passes_);
    std::size_t at = 0;
    while (!is_new && at < passes_.size() && passes_[at] == known->second[at]) ++at;
    bool differs = !is_new && at < passes_.size();
    std::string expected =
        differs ? fmt::format(
                      "call {} of this iteration in pass {}, as in an earlier one with the "
                      "same calls, before it",
                      at, known->second[at])
                : "";
    calls_.clear();
    passes_.clear();
    return expected;
  }

  std::string take_border(const json& event) {
    if (iteration_ >= 0) {
      if (!has_reset_ || (!has_backward_ && !open_.empty())) return "the end of the forward pass";
      if (ended_ < endings_of_iteration()) return endings[ended_];
    }
    ++iteration_;
    bool is_last = iteration_ == std::int64_t(schedule_.phases.size());
    if (event[0] == "END") {
      has_ended_ = true;
      return is_last ? "" : fmt::format("ITER {}", iteration_);
    }
    if (is_last) return "END";
    if (event[1] != iteration_) return fmt::format("ITER {}", iteration_);
    trained_ += trains();
    has_reset_ = has_backward_ = has_entered_ = false;
    ended_ = 0;
    open_.clear();
    entered_.clear();
    open_backward_.clear();
    forward_.clear();
    recomputed_.clear();
    used_.clear();
    ready_.clear();
    return "";
  }

  std::string enter(std::int64_t module, bool is_forward) {
    run_.clear();
    if (ended_ > 0) return endings[ended_];
    if (is_forward) {
      if (!has_entered_ && module != 0) return "the root first";
      if (has_entered_ && open_.empty() && !has_backward_) return "one call of the root";
      has_entered_ = true;
      entered_.insert(module);
      ++(has_backward_ ? recomputed_ : forward_)[module];
      open_.push_back(module);
      const std::vector<std::int64_t>& needs = schedule_.modules[std::size_t(module)].needs;
      used_.insert(needs.begin(), needs.end());
      used_.insert(external_[module].begin(), external_[module].end());
      return "";
    }
    if (!trains()) return "no backward pass";
    if (!has_backward_ && !open_.empty()) return "the end of the forward pass";
    has_backward_ = true;
    ++open_backward_[module];
    return entered_.count(module) ? "" : "a module that was entered forward";
  }

  std::string leave(std::int64_t module, bool is_forward) {
    run_.clear();
    if (ended_ > 0) return endings[ended_];
    if (!is_forward)
      return open_backward_[module]-- > 0 ? "" : "a module that was entered backward";
    if (open_.empty()) return "no module that is left forward";
    if (open_.back() != module) return fmt::format("module {} to be left first", open_.back());
    open_.pop_back();
    return "";
  }

  std::string add_external(std::int64_t module, std::int64_t param) {
    external_[module].insert(param);
    if (entered_.count(module)) used_.insert(param);
    return "";
  }

  std::string remove_external(std::int64_t module, std::int64_t param) {
    return external_[module].erase(param) ? "" : "a parameter that is registered";
  }

  std::string gradient(std::int64_t param) {
    if (!has_backward_ || ended_ > 0) return "no gradient outside of a backward pass";
    if (schedule_.params[std::size_t(param)].is_frozen) return "no gradient of a frozen parameter";
    if (!used_.count(param)) return "a gradient of a module that was entered";
    if (!ready_.insert(param).second) return "one gradient of each parameter";
    for (std::int64_t earlier : run_) {
      if (order_.count({param, earlier})) return fmt::format("its gradient before {}'s", earlier);
      order_.insert({earlier, param});
    }
    run_.push_back(param);
    return "";
  }

  std::string take_ending(const std::string& name) {
    if (!trains() || !has_backward_) return "no end of a backward pass";
    if (ended_ == endings_of_iteration()) return "the next iteration";
    if (name != endings[ended_]) return endings[ended_];
    run_.clear();
    return ++ended_ == 1 ? compare_ready() : "";
  }

  // A backward pass recomputes all forward calls of a module, or none.
  std::string compare_ready() {
    for (auto [module, count] : recomputed_)
      if (count != forward_[module])
        return fmt::format("{} recomputations of module {}, got {}, before it", forward_[module],
                           module, count);
    for (std::int64_t param : used_) {
      if (schedule_.params[std::size_t(param)].is_frozen) continue;
      auto [known, is_new] = has_gradient_.emplace(param, ready_.count(param) > 0);
      if (!is_new && known->second != (ready_.count(param) > 0))
        return fmt::format("a gradient of parameter {} in all iterations or in none", param);
    }
    return "";
  }

  const ScheduleCase& schedule_;
  std::int64_t iteration_ = -1, trained_ = 0;
  bool has_ended_ = false, has_reset_ = false, has_entered_ = false, has_backward_ = false;
  std::size_t ended_ = 0;                               // of the endings of this iteration
  std::vector<std::int64_t> open_;                      // modules entered forward and not left
  std::map<std::int64_t, std::int64_t> open_backward_;  // of this iteration, by module
  std::map<std::int64_t, std::int64_t> forward_, recomputed_;  // calls of this iteration, by module
  std::set<std::int64_t> entered_, used_, ready_;              // of this iteration
  std::vector<std::int64_t> run_;  // gradients since the last call of a module
  std::set<std::pair<std::int64_t, std::int64_t>> order_;
  std::map<std::int64_t, bool> has_gradient_;
  std::vector<std::pair<std::string, std::int64_t>> calls_;  // of this iteration, with gradients
  std::string passes_;                                       // of the modules' calls
  std::map<std::vector<std::pair<std::string, std::int64_t>>, std::string> known_passes_;
  std::map<std::int64_t, std::set<std::int64_t>> external_;  // by module
};

}  // namespace

bool is_driving(const json& event) {
  static const std::set<std::string> names = {
      "ITER",     "reset",     "fetch_begin", "rel_begin",   "external",  "unexternal", "grad",
      "grad_end", "leftovers", "STEP",        "release_all", "EXCEPTION", "END"};
  return names.count(event[0].get<std::string>()) > 0;
}

void check_schedule_program(const ScheduleCase& schedule, const ScheduleEvents& events,
                            CaseReport& report) {
  ProgramCheck check(schedule);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_driving(events[i])) {
      bool follows_end = i > 0 && (events[i - 1][0] == "END" || events[i - 1][0] == "EXCEPTION");
      if (!follows_end) continue;
    }
    std::string expected = check.take(events[i]);
    if (!expected.empty())
      return report.mismatch(
          fmt::format("event {}: expected {}, got {}", i, expected, events[i].dump()));
  }
  if (std::string expected = check.end(); !expected.empty())
    report.mismatch(fmt::format("event {}: expected {}, got none", events.size(), expected));
}

}  // namespace simmesh
