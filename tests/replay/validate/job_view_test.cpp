#include "replay/validate/job_view.h"

#include <gtest/gtest.h>

#include "tests/replay/made_job.h"

namespace simmesh::replay {
namespace {

using testing::MadeTrace;

TEST(JobView, LooksUpWhatBelongsToACommunication) {
  TraceJob job =
      testing::made_job(MadeTrace(0).group("0", {0, 1}).add({}),
                        MadeTrace(1)
                            .group("0", {0, 1})
                            .op("aten::relu", 4)
                            .add({})
                            .add({.name = "all_to_allv", .rank = 1, .in_split = {3, 5}}));
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  JobView view(job, groups);
  CommPlace place{.position = 1, .comm = 1};
  EXPECT_EQ(view.node(place).id, 5);
  EXPECT_EQ(view.name(place), "all_to_allv");
  EXPECT_EQ(view.kind(place), CommKind::all_to_allv);
  EXPECT_EQ(view.numbers(place, view.comm(place).in_split)[1], 5);
  EXPECT_EQ(view.group(place).members.size(), 2u);
  EXPECT_EQ(view.global_rank(place), 1);
  EXPECT_EQ(to_string(view, place), "rank 1 node 5");
  EXPECT_EQ(view.at(place, "in_split").node, 5);
}

}  // namespace
}  // namespace simmesh::replay
