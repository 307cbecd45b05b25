#include "core/engine/search/run_order.h"

#include <gtest/gtest.h>

#include "core/engine/search/event_set.h"
#include "core/engine/search/next_orders.h"

namespace simmesh {
namespace {

Access change_of(std::uint64_t object) { return {object, Access::Kind::change}; }
Access add_to(std::uint64_t object) { return {object, Access::Kind::add}; }
Access ask_about(std::uint64_t object) { return {object, Access::Kind::ask}; }

// If this fails, a search takes orders for different that nobody can tell apart, or the reverse.
TEST(KnownOrders, TellWhichAccessesDepend) {
  KnownOrders known;
  EXPECT_TRUE(known.depend(change_of(1), change_of(1)));
  EXPECT_TRUE(known.depend(change_of(1), add_to(1)));
  EXPECT_TRUE(known.depend(ask_about(1), add_to(1)));
  EXPECT_FALSE(known.depend(add_to(1), add_to(1)));
  EXPECT_FALSE(known.depend(ask_about(1), ask_about(1)));
  EXPECT_FALSE(known.depend(change_of(1), change_of(2)));
  known.kept.insert(1);
  EXPECT_TRUE(known.depend(add_to(1), add_to(1)));
  EXPECT_FALSE(known.depend(ask_about(1), ask_about(1)));
}

// If this fails, an event counts as free to come before what it needs.
TEST(RunOrder, KnowsWhatAnEventNeeds) {
  KnownOrders known;
  RunOrder run(known);
  run.happen(0, {change_of(1)});
  run.publish(0, 9);
  run.happen(1, {change_of(2)});
  run.follow(1, 9);
  run.happen(1, {change_of(1)});
  run.wake(2, 1);
  run.happen(2, {add_to(3)});
  run.follow_all(3);
  run.happen(3, {});
  const std::vector<OrderedEvent>& events = run.events();
  EXPECT_FALSE(events[1].past.contains(0));
  EXPECT_TRUE(events[2].enabling.contains(0));
  EXPECT_TRUE(events[3].enabling.contains(2));
  for (std::size_t event = 0; event < 4; ++event)
    EXPECT_TRUE(events[4].enabling.contains(event)) << event;
}

TEST(RunOrder, ADependenceIsNoNeed) {
  KnownOrders known;
  RunOrder run(known);
  run.happen(0, {change_of(1)});
  run.happen(1, {change_of(1)});
  EXPECT_TRUE(run.events()[1].past.contains(0));
  EXPECT_FALSE(run.events()[1].enabling.contains(0));
}

// If this fails, the other order of two uses is not run, or is run where it can't be.
TEST(NextOrders, SwapWhatDependsAndNothingElse) {
  KnownOrders known;
  RunOrder races(known), does_not(known), needs(known);
  for (RankId rank : {0u, 1u}) {
    races.happen(rank, {change_of(1)});
    does_not.happen(rank, {add_to(1)});
  }
  EXPECT_EQ(next_orders(races), (std::vector<EventOrder>{{1, 0}}));
  EXPECT_TRUE(next_orders(does_not).empty());
  needs.happen(0, {change_of(1)});
  needs.wake(1, 0);
  needs.happen(1, {change_of(1)});
  EXPECT_TRUE(next_orders(needs).empty());
}

// If this fails, a run may never end, since one rank looks again and again for what others do.
TEST(FairTurns, LetTheRankWithTheFewestEventsComeNext) {
  FairTurns turns;
  for (RankId rank : {2u, 0u, 1u}) turns.add(rank);
  EXPECT_EQ(turns.next(), 0u);
  turns.add(0);
  EXPECT_EQ(turns.next(), 1u);
  EXPECT_FALSE(turns.take(1));
  EXPECT_TRUE(turns.take(0));
  EXPECT_EQ(turns.next(), 2u);
  EXPECT_EQ(turns.next(), no_rank);
}

TEST(EventSet, HoldsEventsByNumber) {
  EventSet set, all;
  for (std::size_t event : {0u, 64u, 200u}) set.insert(event);
  EXPECT_TRUE(set.contains(200));
  EXPECT_FALSE(set.contains(199));
  all.add(set);
  all.insert(5);
  EXPECT_TRUE(set.is_within(all));
  EXPECT_FALSE(all.is_within(set));
  EXPECT_TRUE(all.is_within_but_for(5, set));
  EXPECT_FALSE(all.is_within_but_for(64, set));
}

}  // namespace
}  // namespace simmesh
