#include "core/engine/run/deputies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

#include "core/check/error.h"
#include "core/engine/reports/outcome.h"

namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three ranks with two deputies each: those of crew 1 are 3, 4 and 5, and of crew 2 6, 7 and 8.
const WorldOptions options{.ranks = 3, .deputies = 2};

Deputies::Work make_work(RankId deputy) {
  auto work = std::make_shared<DeputyWork>();
  work->work = [] {};
  work->owner = rank_behind(options, deputy);
  work->deputy = deputy;
  work->deputy_name = name_of(options, deputy);
  return work;
}

Deputies::Work given(Deputies& deputies, RankId deputy) {
  Deputies::Work work = make_work(deputy);
  deputies.give(work);
  return work;
}

Deputies::Work begun(Deputies& deputies, RankId deputy) {
  given(deputies, deputy);
  return deputies.begin(deputy);
}

std::exception_ptr no_good() {
  return std::make_exception_ptr(Error(ErrorKind::value_error, "test", "no good"));
}

Deputies::IsBlocked blocked(std::set<RankId> deputies) {
  return [deputies = std::move(deputies)](RankId deputy) { return deputies.count(deputy) > 0; };
}

// If this fails, a deputy does work twice, out of order, or that of another deputy.
TEST(Deputies, BeginTheOldestWorkOfADeputy) {
  Deputies deputies(options);
  Deputies::Work first = given(deputies, 4), second = given(deputies, 4);
  Deputies::Work other = given(deputies, 7);
  EXPECT_EQ(deputies.begin(4), first);
  EXPECT_EQ(deputies.begin(4), second);
  EXPECT_EQ(deputies.begin(4), nullptr);
  EXPECT_EQ(deputies.begin(7), other);
  EXPECT_EQ(deputies.begin(3), nullptr);
}

// The explorer knows work by its object. If this fails, it takes two works for one, or one for two
// under another schedule.
TEST(Deputies, NumberTheWorkOfEachDeputy) {
  Deputies deputies(options), again(options);
  Deputies::Work first = given(deputies, 4), second = given(deputies, 4);
  Deputies::Work other = given(deputies, 7);
  EXPECT_EQ(first->number, 1u);
  EXPECT_EQ(second->number, 2u);
  EXPECT_EQ(other->number, 1u);
  EXPECT_NE(first->object, second->object);
  EXPECT_NE(first->object, other->object);
  EXPECT_EQ(given(again, 7)->object, other->object);
}

// If this fails, a rank waits for ever for work that has ended.
TEST(Deputies, NameTheRankThatWaits) {
  Deputies deputies(options);
  Deputies::Work awaited = begun(deputies, 4), other = begun(deputies, 5);
  deputies.await(awaited);
  EXPECT_EQ(deputies.end(other, nullptr), no_rank);
  EXPECT_EQ(deputies.end(awaited, nullptr), 1u);
  EXPECT_TRUE(awaited->is_over());
  EXPECT_EQ(awaited->error, nullptr);
}

// If this fails, a run passes whose background work has failed.
TEST(Deputies, RememberFailuresThatNobodyWasToldOf) {
  Deputies deputies(options);
  Deputies::Work heard = begun(deputies, 3), unheard = begun(deputies, 4);
  deputies.end(heard, no_good());
  deputies.end(unheard, no_good());
  deputies.end(begun(deputies, 5), nullptr);
  heard->error_is_known = true;
  EXPECT_THAT(deputies.unheard(), ElementsAre(unheard));
}

// If this fails, who waits for a deputy that lost its partner hangs, or is told of the wrong
// failure.
TEST(Deputies, GiveUpTheWorkOfAStrandedCrew) {
  Deputies deputies(options);
  Deputies::Work lost = begun(deputies, 3), failed = begun(deputies, 4), same = begun(deputies, 6);
  for (const Deputies::Work& work : {lost, same}) deputies.await(work);
  EXPECT_THAT(deputies.give_up_stranded(blocked({3, 6})), IsEmpty()) << "none has failed";
  deputies.end(failed, no_good());
  EXPECT_FALSE(deputies.is_stranded(1, blocked({}))) << "none is blocked";
  EXPECT_TRUE(deputies.is_stranded(1, blocked({3, 6})));
  EXPECT_FALSE(deputies.is_stranded(2, blocked({3, 6}))) << "of another crew";
  EXPECT_THAT(deputies.give_up_stranded(blocked({3, 6})), ElementsAre(0));
  EXPECT_TRUE(lost->is_lost);
  EXPECT_THAT(message_of(lost->error),
              AllOf(HasSubstr("deputy 0 of rank 0 can't go on"),
                    HasSubstr("deputy 0 of rank 1 has failed: [test] no good")));
  EXPECT_FALSE(same->is_over());
  EXPECT_THAT(deputies.give_up_stranded(blocked({3, 6})), IsEmpty()) << "nobody waits any more";
}

// If this fails, a deadlock is blamed on a failure that all had got over.
TEST(Deputies, AreNotStrandedByAnOlderFailure) {
  Deputies deputies(options);
  deputies.end(begun(deputies, 3), no_good());
  deputies.end(begun(deputies, 4), no_good());
  begun(deputies, 4);
  EXPECT_FALSE(deputies.is_stranded(1, blocked({4})));
  begun(deputies, 3);
  EXPECT_FALSE(deputies.is_stranded(1, blocked({3, 4})));
}

// Lost work may still raise while its run unwinds. If this fails, its owner sees the second error.
TEST(Deputies, KeepTheErrorOfLostWork) {
  Deputies deputies(options);
  Deputies::Work lost = begun(deputies, 3), failed = begun(deputies, 4);
  deputies.await(lost);
  deputies.end(failed, no_good());
  deputies.give_up_stranded(blocked({3}));
  EXPECT_EQ(deputies.end(lost, no_good()), no_rank);
  EXPECT_THAT(message_of(lost->error), HasSubstr("can't go on"));
}

// If this fails, tensors that work holds stay alive after the run.
TEST(Deputies, DropWorkThatNeverBegan) {
  Deputies deputies(options);
  auto held = std::make_shared<int>(1);
  Deputies::Work work = make_work(8);
  work->work = [held] {};
  deputies.give(work);
  EXPECT_EQ(held.use_count(), 2);
  deputies.drop();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(deputies.begin(8), nullptr);
}

}  // namespace
}  // namespace simmesh
