#include "zero/fetch/gathers_in_flight.h"

#include <gmock/gmock.h>

namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// If this fails, a second wait completes a gather again: members that were released meanwhile would
// be there without elements.
TEST(GathersInFlight, AreCompletedByTheFirstWait) {
  GathersInFlight gathers(5);
  std::vector<ParamId> first = {1, 3}, second = {0};
  gathers.start(first);
  gathers.start(second);
  EXPECT_EQ(gathers.count(), 3);
  GathersInFlight::Waited waited = gathers.wait(3);
  EXPECT_THAT(waited.completed, ElementsAre(1, 3));
  EXPECT_FALSE(gathers.contains(3));
  EXPECT_TRUE(gathers.contains(1));
  EXPECT_THAT(gathers.wait(1).completed, IsEmpty());
  EXPECT_NE(gathers.wait(0).gather, waited.gather);
  EXPECT_EQ(gathers.count(), 0);
}

// If this fails, unused prefetches are dropped in another order than they came in.
TEST(GathersInFlight, HaveTheOrderOfTheirStarts) {
  GathersInFlight gathers(5);
  for (ParamId id : {4, 0, 2}) gathers.start({&id, 1});
  EXPECT_THAT(gathers.by_start(), ElementsAre(4, 0, 2));
  gathers.wait(0);
  for (ParamId id : {0, 1}) gathers.start({&id, 1});
  EXPECT_THAT(gathers.by_start(), ElementsAre(4, 2, 0, 1));
}

}  // namespace
}  // namespace simmesh::zero
