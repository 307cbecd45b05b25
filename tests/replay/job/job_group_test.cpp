#include "replay/job/job_group.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(JobGroup, KnowsWhereARankStands) {
  for (const std::vector<std::int64_t>& members :
       {std::vector<std::int64_t>{0, 1, 2}, {3, 5, 7}, {7, 5, 3}, {0, 1, 5}, {4, 9, 2}, {6}, {}}) {
    JobGroup group{.members = members};
    for (std::int64_t rank = -2; rank < 12; ++rank) {
      auto place = std::find(members.begin(), members.end(), rank);
      std::optional<std::int64_t> expected;
      if (place != members.end()) expected = place - members.begin();
      EXPECT_EQ(group.index_of(rank), expected) << to_string(group) << " rank " << rank;
    }
  }
}

TEST(JobGroup, LargeGroupsAreCutInMessages) {
  JobGroup group;
  for (std::int64_t rank = 0; rank < 1000; ++rank) group.members.push_back(rank);
  EXPECT_EQ(to_string(group),
            "the group of ranks [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
            "14, 15, ... 1000 in all]");
}

}  // namespace
}  // namespace simmesh::replay
