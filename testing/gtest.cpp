#include "testing/gtest.h"

#include <fmt/format.h>

namespace simmesh::testing {

namespace {

Schedule schedule_of(std::int64_t number, std::uint64_t seed) {
  if (number == 0) return Schedule::fifo();
  if (number == 1) return Schedule::pct({.depth = 3});
  return Schedule::seeded(seed + std::uint64_t(number) - 2);
}

std::vector<Schedule> schedules_of(const MeshTest& test, const WorldArguments& arguments) {
  std::vector<Schedule> schedules = arguments.schedules;
  if (!schedules.empty()) return schedules;
  std::uint64_t seed = arguments.seed.value_or(test.seed);
  for (std::int64_t number = 0; number < test.schedules; ++number)
    schedules.push_back(schedule_of(number, seed));
  return schedules;
}

std::string test_name() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return info ? fmt::format("{}.{}", info->test_suite_name(), info->name()) : "*";
}

struct FirstRun {
  std::string schedule;
  std::uint64_t data_hash;
};

// Describes what is wrong with an outcome; empty if nothing is.
std::string judge(const Outcome& outcome, std::optional<FirstRun>& first) {
  if (!outcome.ok()) return report(outcome);
  if (outcome.live_storages != 0)
    return fmt::format("expected no live storage at the end, got {}\n{}", outcome.live_storages,
                       to_string(outcome.repro));
  if (!first) first = {outcome.repro.schedule, outcome.data_hash};
  if (first->data_hash == outcome.data_hash) return {};
  Repro both = outcome.repro;
  both.program += " --schedule " + first->schedule;
  return fmt::format(
      "two schedules give different data: hash {:016x} under {}, {:016x} under {}\n{}",
      first->data_hash, first->schedule, outcome.data_hash, both.schedule, to_string(both));
}

}  // namespace

void run_mesh_test(const MeshTest& test, const MeshTestBody& body, CallSite site,
                   const TestRequest& request) {
  std::optional<FirstRun> first;
  const WorldArguments& asked = request.arguments;
  std::size_t number = 0;
  for (const Schedule& schedule : schedules_of(test, asked)) {
    WorldArguments flags = {.threads = asked.threads.value_or(number++ % 2 == 0 ? 1 : 2),
                            .release = asked.release};
    World world({.ranks = std::size_t(numel(test.mesh)),
                 .seed = asked.seed.value_or(test.seed),
                 .schedule = schedule,
                 .threads = *flags.threads,
                 .arithmetic = test.arithmetic,
                 .release = asked.release.value_or(test.release),
                 .device = test.device,
                 .timeout_seconds = asked.timeout_seconds.value_or(test.timeout_seconds),
                 .poison = true,
                 .program = request.command(test_name()) + flags.flags()});
    Outcome outcome = world.run([&](Rank&) { body(init_device_mesh(test.mesh, test.names)); });
    std::string wrong = judge(outcome, first);
    if (wrong.empty()) continue;
    GTEST_FAIL_AT(site.file, site.line) << wrong;
    return;
  }
}

}  // namespace simmesh::testing
