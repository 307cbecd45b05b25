#include "collectives/exchange.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gsl/span>
#include <gtest/gtest.h>

#include "collectives/host_memory.h"
#include "core/check/error.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

Membership group_of(const RankList& members, const WorldOptions& world = {.ranks = 8}) {
  return Membership({3, "dp", members}, world);
}

// Member is one side of an exchange: an all-reduce of a tensor with the member's number in it.
struct Member {
  explicit Member(double value) : tensor(full({2}, DType::float32, value)) {
    call = {.op = CollectiveOp::all_reduce, .inputs = {&tensor, 1}, .site = {"a.cpp", 5}};
    arrival.call = &call;
  }

  Tensor tensor;
  CollectiveCall call;
  Arrival arrival;
};

ResultPart part_of(const Tensor& tensor) {
  return {tensor.storage()->buffer(), 0, tensor.shape(), tensor.dtype(), 0};
}

// If this fails, a collective ends before all have come, or hands its transport the operands of
// another member.
TEST(Exchange, HoldsTheCallsInGroupOrderWhoeverComesFirst) {
  Membership group = group_of(RankList::of({6, 0, 4}));
  std::vector<std::size_t> order = {0, 1, 2};
  do {
    std::vector<std::unique_ptr<Member>> members;
    for (int i = 0; i < 3; ++i) members.push_back(std::make_unique<Member>(i));
    Exchange exchange(group);
    exchange.start(9);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_FALSE(exchange.all_arrived());
      exchange.arrive(order[i], members[order[i]]->arrival);
      std::vector<RankId> missing = exchange.missing_ranks();
      EXPECT_EQ(missing.size(), 2 - i);
      for (std::size_t come = 0; come <= i; ++come)
        EXPECT_EQ(std::count(missing.begin(), missing.end(), group.rank_of(order[come])), 0);
    }
    EXPECT_TRUE(exchange.all_arrived());
    EXPECT_TRUE(exchange.all_run());
    EXPECT_EQ(exchange.sequence(), 9u);
    for (std::size_t member = 0; member < 3; ++member) {
      EXPECT_EQ(&exchange.call(member), &members[member]->call);
      EXPECT_EQ(&exchange.arrival(member), &members[member]->arrival);
      EXPECT_EQ(exchange.operand_data(member), members[member]->tensor.data());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// If this fails, strided operands are read as if they were contiguous.
TEST(Exchange, KnowsNoPlaceOfOperandsThatAreNotContiguous) {
  Member member(0);
  Tensor wide = zeros({2, 3}, DType::float32);
  Tensor column = wide.narrow({.dim = 1, .start = 0, .length = 1});
  member.call.inputs = {&column, 1};
  Membership group = group_of(RankList::range(1));
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(0, member.arrival);
  EXPECT_EQ(exchange.operand_data(0), nullptr);
}

// If this fails, a folded world waits for members that aren't run, or has no call for them.
TEST(Exchange, MembersThatAreNotRunCallWhatTheFirstOneDid) {
  WorldOptions world =
      checked({.ranks = 8, .shapes_only = true, .fold = true, .folded_onto = {2, 5}});
  Membership group = group_of(RankList::range(8), world);
  Member two(2), five(5);
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(5, five.arrival);
  EXPECT_THAT(exchange.missing_ranks(), ElementsAre(2));
  EXPECT_FALSE(exchange.all_arrived());
  exchange.arrive(2, two.arrival);
  EXPECT_TRUE(exchange.all_arrived());
  EXPECT_FALSE(exchange.all_run());
  EXPECT_EQ(exchange.members(), 8u);
  for (std::size_t member : {0, 1, 3, 7}) {
    EXPECT_FALSE(exchange.is_run(member));
    EXPECT_EQ(&exchange.call(member), &two.call);
    exchange.give(member, part_of(two.tensor));
  }
  EXPECT_EQ(&exchange.call(5), &five.call);
  EXPECT_TRUE(two.arrival.results.empty()) << "what is given to who isn't run is lost";
}

// If this fails, a member gets the result of another one, or of the collective before.
TEST(Exchange, GivesEachMemberItsParts) {
  Membership group = group_of(RankList::range(2));
  Member first(1), second(2);
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(0, first.arrival);
  exchange.arrive(1, second.arrival);
  exchange.give(1, part_of(first.tensor));
  exchange.give(1, part_of(second.tensor));
  EXPECT_TRUE(first.arrival.parts().empty());
  ASSERT_EQ(second.arrival.parts().size(), 2u);
  EXPECT_EQ(second.arrival.parts()[1].buffer, second.tensor.storage()->buffer());
  second.arrival.drop_parts();
  EXPECT_TRUE(second.arrival.parts().empty());

  EXPECT_EQ(exchange.take_shared(), nullptr);
  exchange.give_all(part_of(first.tensor));
  first.arrival.shared = exchange.take_shared();
  ASSERT_EQ(first.arrival.parts().size(), 1u);
  EXPECT_EQ(exchange.take_shared(), nullptr) << "the next collective begins with nothing";
  first.arrival.drop_parts();
  EXPECT_TRUE(first.arrival.parts().empty());
}

// If this fails, an exchange that is used again remembers who came to the one before.
TEST(Exchange, StartsAfresh) {
  Membership group = group_of(RankList::range(2));
  Member first(1), second(2), again(3);
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(0, first.arrival);
  exchange.arrive(1, second.arrival);
  exchange.start(1);
  EXPECT_FALSE(exchange.all_arrived());
  EXPECT_THAT(exchange.missing_ranks(), ElementsAre(0, 1));
  exchange.arrive(1, again.arrival);
  EXPECT_EQ(&exchange.call(1), &again.call);
  EXPECT_EQ(exchange.sequence(), 1u);
}

// If this fails, a started operation's operands are freed before the others have come, or never, or
// on the thread of another rank.
TEST(Exchange, KeepsArrivalsUntilItFinishes) {
  World({.ranks = 1}).run([](Rank& rank) {
    Membership group = group_of(RankList::range(2));
    auto kept = std::make_shared<Arrival>(), waited_for = std::make_shared<Arrival>();
    kept->rank = waited_for->rank = &rank;
    waited_for->is_blocked = true;
    Exchange exchange(group);
    exchange.start(0);
    exchange.keep(kept);
    exchange.keep(waited_for);
    EXPECT_EQ(kept.use_count(), 2);
    EXPECT_EQ(waited_for.use_count(), 2);
    exchange.finish(rank.run());
    EXPECT_EQ(kept.use_count(), 2) << "it is the rank's, until it has the turn again";
    EXPECT_EQ(waited_for.use_count(), 1);
    rank.run().take_turn(rank);
    EXPECT_EQ(kept.use_count(), 1);
  });
}

// If this fails, operands in memory of the host are read too early, or results never reach it.
TEST(Exchange, ReadsAndWritesMemoryOfTheHost) {
  Membership group = group_of(RankList::range(1));
  float operand[2] = {1, 2}, result[2] = {0, 0};
  auto array = [](gsl::span<float> values) {
    return HostArray{.data = reinterpret_cast<std::byte*>(values.data()),
                     .dtype = DType::float32,
                     .shape = {2},
                     .strides = {1}};
  };
  HostMemory host({array(operand)}, {array(result)});
  std::vector<Tensor> inputs = host.placeholders();
  CollectiveCall call{.op = CollectiveOp::all_reduce, .inputs = inputs};
  Arrival arrival;
  arrival.call = &call;
  arrival.host = &host;
  arrival.loaded = inputs;
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(0, arrival);
  operand[1] = 5;
  exchange.load_host();
  EXPECT_EQ(inputs[0].values<float>()[1], 5);
  exchange.give(0, part_of(inputs[0]));
  exchange.store_host();
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(result[1], 5);
}

// If this fails, a mismatch names the sides in the order in which they came, which differs from
// schedule to schedule.
TEST(Exchange, NamesBothSidesOfAMismatchInGroupOrder) {
  for (bool in_order : {true, false}) {
    Outcome outcome = World({.ranks = 2}).run([&](Rank& rank) {
      if (rank.id() != 0) return;
      Membership group = group_of(RankList::range(2));
      Member zero(0), one(1);
      one.call.reduce = ReduceOp::max;
      zero.arrival.rank = &rank.run().rank(0);
      one.arrival.rank = &rank.run().rank(1);
      Exchange exchange(group);
      exchange.start(4);
      exchange.arrive(in_order ? 0 : 1, in_order ? zero.arrival : one.arrival);
      exchange.arrive(in_order ? 1 : 0, in_order ? one.arrival : zero.arrival);
    });
    ASSERT_TRUE(outcome.failure);
    EXPECT_EQ(outcome.failure->message,
              "[collectives/mismatch] collective #4 of group dp [0, 1]: the reduce operations "
              "differ: rank 0 calls all_reduce(sum) of float32[2] at a.cpp:5, rank 1 calls "
              "all_reduce(max) of float32[2] at a.cpp:5");
  }
}

// If this fails, a rank that hangs is described with the operand of another one.
TEST(Exchange, DescribesWhatARankBrought) {
  Membership group = group_of(RankList::of({6, 2}));
  Member member(1);
  member.call.host_dtypes = "int8";
  Exchange exchange(group);
  exchange.start(0);
  exchange.arrive(1, member.arrival);
  EXPECT_EQ(exchange.group(), "dp [6, 2]");
  EXPECT_EQ(exchange.operand(2), "float32[2] (int8)");
  EXPECT_EQ(exchange.operand(6), "") << "it hasn't come";
  EXPECT_EQ(exchange.operand(5), "") << "it is no member";
}

}  // namespace
}  // namespace simmesh
