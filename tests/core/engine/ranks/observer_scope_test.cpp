#include "core/engine/ranks/observer_scope.h"

#include <gmock/gmock.h>
#include <optional>

#include "tests/every_schedule.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Noted {
  int number;
};
using Scope = ObserverScope<Noted>;

// A rank that saw another one's events would report what it didn't do.
TEST(ObserverScope, SeesTheEventsOfItsRank) {
  run_every_schedule(3, [](Rank& rank) {
    std::vector<int> seen;
    Scope scope([&](const Noted& event) { seen.push_back(event.number); });
    for (int i = 0; i < 2; ++i) {
      Scope::emit({int(rank.id()) * 10 + i});
      rank.yield();
    }
    EXPECT_THAT(seen, ElementsAre(int(rank.id()) * 10, int(rank.id()) * 10 + 1));
  });
}

TEST(ObserverScope, LiesInOthersAndEnds) {
  std::vector<int> outer, inner;
  EXPECT_FALSE(Scope::is_observed());
  {
    Scope scope([&](const Noted& event) { outer.push_back(event.number); });
    std::optional<Scope> within(std::in_place,
                                [&](const Noted& event) { inner.push_back(event.number); });
    EXPECT_TRUE(Scope::is_observed());
    Scope::emit({1});
    within.reset();
    Scope::emit({2});
  }
  Scope::emit({3});
  EXPECT_FALSE(Scope::is_observed());
  EXPECT_THAT(outer, ElementsAre(1, 2));
  EXPECT_THAT(inner, ElementsAre(1));
}

TEST(ObserverScope, SeesEventsOfItsTypeOnly) {
  struct Other {};
  std::vector<int> seen;
  Scope scope([&](const Noted& event) { seen.push_back(event.number); });
  ObserverScope<Other>::emit({});
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace simmesh
