#include "core/engine/reports/own_objects.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

// If this fails, partial-order sampling takes events that race for a rank's own, or the other way.
TEST(OwnObjects, AreThoseOfOneRank) {
  std::vector<Touch> touches = {{1, 0, 7}, {2, 1, 5}, {3, 0, 7}, {4, 2, 5}, {5, 2, 3}, {6, 1, 5}};
  EXPECT_THAT(objects_of_one_rank({touches.data(), touches.size()}),
              ::testing::ElementsAre(3u, 7u));
  EXPECT_TRUE(objects_of_one_rank({}).empty());
}

}  // namespace
}  // namespace simmesh
