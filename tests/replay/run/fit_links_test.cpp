#include "replay/run/fit_links.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "replay/run/what_if.h"
#include "replay/timeline/read_timeline.h"
#include "tests/expect_error.h"
#include "tests/replay/run/hand_job.h"
#include "tests/replay/run/recorded_jobs.h"

namespace simmesh::replay {

namespace {

TEST(FitLinks, Dlrm) {
  ReplayProgram program = samples::recorded_program("dlrm_pytorch_et.tar.gz");
  JobMeetings meetings = meetings_of(program);
  JobTimeline timeline = read_timelines(
      std::vector<std::string>{SIMMESH_SOURCE_DIR "/tests/cases/replay/dlrm_kineto.tar.gz"});
  FittedLinks links = fit_links(program, meetings, timeline);
  fmt::print("{}", to_string(links));
  JobCosts costs = recorded_costs(program, meetings, timeline);
  for (auto change :
       {WhatIf{}, WhatIf{.choices = {.even_splits = true}}, WhatIf{.perfect_arrival = true}}) {
    WhatIfTimes t = what_if(program, meetings, costs, links.topology, change);
    for (auto& r : t.ranks)
      fmt::print("{} {} -> {} {}\n", r.before.step_us, r.before.exposed_us, r.after.step_us,
                 r.after.exposed_us);
    fmt::print("all {} {} -> {} {}\n", t.before.step_us, t.before.exposed_us, t.after.step_us,
               t.after.exposed_us);
  }
}

}  // namespace

}  // namespace simmesh::replay
