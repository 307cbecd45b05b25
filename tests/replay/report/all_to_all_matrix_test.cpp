#include "replay/report/all_to_all_matrix.h"

#include <gtest/gtest.h>

#include "tests/replay/report/reported_job.h"

namespace simmesh::replay {
namespace {

// Rank r receives 8 times the r-th of these, from every rank as many.
TEST(AllToAllMatrix, HasWhatEachRankSendsToEach) {
  const std::vector<AllToAllMatrix>& matrices = samples::dlrm_report().all_to_alls;
  ASSERT_EQ(matrices.size(), 5u);
  const std::vector<std::int64_t> sent = {96, 224, 288, 1664, 592, 96, 192, 240};
  const AllToAllMatrix& uneven = matrices[3];
  EXPECT_EQ(uneven.item_bytes, 4);
  EXPECT_EQ(uneven.members.size(), 8u);
  for (const auto& row : uneven.elements) EXPECT_EQ(row, sent);
}

TEST(AllToAllMatrix, EmptySplitsAreEqualParts) {
  const AllToAllMatrix& even = samples::dlrm_report().all_to_alls[1];
  EXPECT_EQ(even.name, "all_to_all");
  EXPECT_EQ(even.item_bytes, 8);
  for (const auto& row : even.elements) EXPECT_EQ(row, std::vector<std::int64_t>(8, 3));
}

}  // namespace
}  // namespace simmesh::replay
