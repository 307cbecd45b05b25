#include "verify/zero/schedule_program.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Two modules below a root, a parameter each; the second one is frozen.
ScheduleCase small_model(std::size_t iterations, std::int64_t gas = 1) {
  ScheduleCase schedule;
  schedule.modules = {{.name = ""}, {.name = "a", .needs = {0}}, {.name = "b", .needs = {1}}};
  schedule.params = {{.name = "a.w"}, {.name = "b.w", .is_frozen = true}};
  schedule.phases.assign(iterations, ScheduleCase::Phase::train);
  schedule.gas = gas;
  return schedule;
}

ScheduleEvents iteration(std::int64_t i, bool is_step = true) {
  ScheduleEvents events = {{"ITER", i}, {"reset", "INVALID", "step", 0, "order_len", 0}};
  for (int module : {0, 1, 2}) {
    events.push_back({"fetch_begin", 0, module, "F", "RECORD", "navail", 0});
    if (module > 0) events.push_back({"rel_begin", 0, module, "F"});
  }
  events.push_back({"rel_begin", 0, 0, "F"});
  events.push_back({"fetch_begin", 0, 1, "B", "RECORD", "navail", 0});
  events.push_back({"grad", 0});
  events.push_back({"rel_begin", 0, 1, "B"});
  events.push_back(json::array({"grad_end"}));
  events.push_back({"leftovers", json::array()});
  events.push_back(json::array({"STEP"}));
  if (is_step) events.push_back(json::array({"release_all"}));
  return events;
}

ScheduleEvents run_of(std::int64_t iterations) {
  ScheduleEvents events;
  for (std::int64_t i = 0; i < iterations; ++i)
    for (const json& event : iteration(i)) events.push_back(event);
  events.push_back(json::array({"END"}));
  return events;
}

std::string mismatch_of(const ScheduleCase& schedule, const ScheduleEvents& events) {
  CaseReport report;
  check_schedule_program(schedule, events, report);
  return report.failed() ? report.mismatches().front() : "";
}

TEST(ScheduleProgram, TakesARunThatMetaDescribes) {
  EXPECT_EQ(mismatch_of(small_model(2), run_of(2)), "");
}

// A call of a module in the backward pass is a recomputation; it is one of all calls, or of none.
TEST(ScheduleProgram, RecomputesAllCallsOfAModule) {
  ScheduleEvents events = run_of(1);
  auto backward = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event.size() > 3 && event[3] == "B";
  });
  json again = {"fetch_begin", 0, 1, "F", "RECORD", "navail", 0};
  json left = {"rel_begin", 0, 1, "F"};
  auto next = events.insert(backward + 1, {again, left});
  EXPECT_EQ(mismatch_of(small_model(1), events), "");
  events.insert(next, {again, left});
  EXPECT_THAT(mismatch_of(small_model(1), events), HasSubstr("1 recomputations of module 1"));
}

// A module whose results need gradients is entered backward for each; one of these calls in the
// other pass would be a recomputation that nothing else contradicts.
TEST(ScheduleProgram, HasTheSamePassesInEachIteration) {
  ScheduleEvents events = run_of(3);
  json again = {"fetch_begin", 0, 1, "B", "RECORD", "navail", 0};
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i] == again) events.insert(events.begin() + std::ptrdiff_t(i++), again);
  EXPECT_EQ(mismatch_of(small_model(3), events), "");
  for (auto& event : events) {
    if (event != again) continue;
    ScheduleEvents changed = events;
    changed[std::size_t(&event - events.data())][3] = "F";
    EXPECT_NE(mismatch_of(small_model(3), changed), "");
  }
}

// The recorded events drive the replay, so a list that is cut would judge itself.
TEST(ScheduleProgram, EndsWithAllIterations) {
  ScheduleEvents events = run_of(2);
  EXPECT_THAT(mismatch_of(small_model(3), events), HasSubstr("expected ITER 2, got [\"END\"]"));
  EXPECT_THAT(mismatch_of(small_model(1), events), HasSubstr("expected END"));
  events.pop_back();
  EXPECT_THAT(mismatch_of(small_model(2), events),
              HasSubstr("expected END or EXCEPTION, got none"));
  events = run_of(2);
  events.push_back({"release", 0, 1});
  EXPECT_THAT(mismatch_of(small_model(2), events), HasSubstr("expected no event after the end"));
  events = run_of(2);
  events[0][1] = 7;
  EXPECT_THAT(mismatch_of(small_model(2), events), HasSubstr("expected ITER 0"));
}

// Each driving event that may be left out, twice or elsewhere would change the program unseen.
TEST(ScheduleProgram, HasEachEventInItsPlace) {
  ScheduleEvents events = run_of(1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    ScheduleEvents shorter = events, longer = events;
    shorter.erase(shorter.begin() + std::ptrdiff_t(i));
    longer.insert(longer.begin() + std::ptrdiff_t(i), events[i]);
    // A backward pass may leave modules open, or enter one twice: what follows is compared.
    bool is_backward = events[i].size() > 3 && events[i][3] == "B";
    // A module without a call, and a parameter without a gradient, are so in every iteration.
    if (!is_backward && events[i][0] != "grad") {
      EXPECT_NE(mismatch_of(small_model(1), shorter), "") << events[i];
    }
    if (!is_backward) {
      EXPECT_NE(mismatch_of(small_model(1), longer), "") << events[i];
    }
  }
}

TEST(ScheduleProgram, HasGradientsOfTrainableParameters) {
  ScheduleEvents events = run_of(2);
  auto grad = std::find_if(events.begin(), events.end(),
                           [](const json& event) { return event[0] == "grad"; });
  ScheduleEvents frozen = events;
  frozen[std::size_t(grad - events.begin())][1] = 1;
  EXPECT_THAT(mismatch_of(small_model(2), frozen), HasSubstr("no gradient of a frozen parameter"));
  ScheduleEvents once = events;
  once.erase(once.begin() + (grad - events.begin()));
  EXPECT_THAT(mismatch_of(small_model(2), once),
              HasSubstr("a gradient of parameter 0 in all iterations or in none"));
}

// Every gas-th step releases everything, and no other.
TEST(ScheduleProgram, ReleasesAllAtEachFullStep) {
  ScheduleEvents events = iteration(0, false);
  for (const json& event : iteration(1)) events.push_back(event);
  events.push_back(json::array({"END"}));
  EXPECT_EQ(mismatch_of(small_model(2, 2), events), "");
  EXPECT_THAT(mismatch_of(small_model(2, 1), events), HasSubstr("expected release_all"));
}

}  // namespace
}  // namespace simmesh
