#include "gate/records/gate_records.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

TEST(GateRecords, FindWhereASchedulePartsFromTheFirst) {
  Outcome first, other;
  first.choices = {0, 1, 1, 0};
  other.choices = {0, 1, 0, 1};
  GateRecords records;
  records.try_schedule("seeded:1", first, other, "data hash 1");
  records.try_schedule("fifo", first, first, "data hash 1");
  ASSERT_EQ(records.schedules.size(), 2u);
  EXPECT_EQ(records.schedules[0].differs_at, 2);
  EXPECT_EQ(records.schedules[0].chosen, 0u);
  EXPECT_EQ(records.schedules[0].chosen_first, 1u);
  EXPECT_EQ(records.schedules[1].differs_at, -1);
}

// A gate may ask for millions of schedules; a failing one is kept in any case.
TEST(GateRecords, KeepABoundedNumberAndEveryFailure) {
  GateRecords records;
  Outcome good, bad;
  bad.failure = Failure{.message = "no"};
  for (int i = 0; i < 1000; ++i) records.try_schedule("seeded", good, good, "");
  records.try_schedule("seeded", good, bad, "no");
  EXPECT_EQ(records.schedules_in_all, 1001u);
  EXPECT_LT(records.schedules.size(), 300u);
  EXPECT_EQ(records.schedules.back().ending, "no");
}

}  // namespace
}  // namespace simmesh
