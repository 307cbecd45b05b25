#include "sharding/explicit_redistribution.h"

#include <gmock/gmock.h>

#include "collectives/process_group.h"
#include "core/engine/world.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Context = ExplicitRedistributionContext;
using Mode = ExplicitRedistributionOptions::Mode;
using simmesh::testing::expect_error;

const Placements split = {Shard(0)}, replicated = {Replicate()};

DTensor ones(const Placements& list) {
  DeviceMesh mesh = init_device_mesh({2}, {"tp"});
  return distribute_tensor(full({4, 2}, DType::float32, 1), mesh, list);
}

DTensor implicitly(const DTensor& x, const Placements& to) {
  return redistribute_implicitly("my::add", x, to);
}

void expect_refused(const DTensor& x, const Placements& to) {
  std::uint64_t before = this_rank().operations();
  expect_error([&] { implicitly(x, to); }, ErrorKind::runtime_error, "implicit redistribution");
  EXPECT_EQ(this_rank().operations(), before) << "something was sent";
}

// Outside any scope an implicit redistribution is one like any other.
TEST(ExplicitRedistribution, WithoutAScopeNothingIsRefused) {
  run_every_schedule(2, [](Rank& rank) {
    DTensor x = ones(split);
    DTensor y = implicitly(x, replicated);
    EXPECT_EQ(y.placements(), replicated);
    rank.expect_same_bits(y.to_local(), full({4, 2}, DType::float32, 1));
    rank.expect_same_bits(implicitly(x, {Shard(-1)}).full_tensor(), y.to_local());
  });
}

// The program's own redistributions pass; what already has the placements isn't moved at all.
TEST(ExplicitRedistribution, MeetsOnlyImplicitOnes) {
  run_every_schedule(2, [](Rank& rank) {
    DTensor x = ones(split);
    Context scope({.strict = true});
    expect_refused(x, replicated);
    expect_refused(x, {Shard(1)});
    rank.expect_same_bits(x.redistribute(replicated).to_local(), x.full_tensor());
    std::uint64_t before = rank.operations();
    EXPECT_EQ(implicitly(x, {Shard(-2)}).placements(), split);
    EXPECT_EQ(rank.operations(), before);
  });
}

// Only strict scopes meet what costs nothing.
TEST(ExplicitRedistribution, FreeOnesPassUnlessStrict) {
  run_every_schedule(2, [](Rank& rank) {
    DTensor x = ones(replicated);
    {
      Context scope;
      rank.expect_same_bits(implicitly(x, split).to_local(), full({2, 2}, DType::float32, 1));
      rank.expect_same_bits(implicitly(x, {Partial()}).to_local(),
                            full({4, 2}, DType::float32, 0.5));
      expect_refused(ones(split), replicated);
    }
    Context scope({.strict = true});
    expect_refused(x, split);
  });
}

// The innermost scope decides, and the one around it holds again afterwards.
TEST(ExplicitRedistribution, ScopesNest) {
  run_every_schedule(2, [](Rank&) {
    DTensor x = ones(split);
    Context outer;
    expect_refused(x, replicated);
    {
      Context lifted({.enable = false});
      implicitly(x, replicated);
      Context again;
      expect_refused(x, replicated);
    }
    expect_refused(x, replicated);
  });
}

// A user must see which call moved what, and from where it was made.
TEST(ExplicitRedistribution, TheErrorNamesTheOpAndBothSpecs) {
  World world({.ranks = 2});
  Outcome outcome = world.run([](Rank&) {
    DTensor x = ones(split);
    Context scope;
    implicitly(x, replicated);
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.failure->message,
              AllOf(HasSubstr("rank 0: implicit redistribution by my::add at "
                              "explicit_redistribution_test.cpp:"),
                    HasSubstr("from float32[4, 2](S(0)) on DeviceMesh((tp=2), ranks [0, 1])"),
                    HasSubstr("to float32[4, 2](R) on DeviceMesh")));
}

// One rank in the scope: it alone refuses, and a warning changes no result.
TEST(ExplicitRedistribution, WarnsOnTheRanksThatAsked) {
  std::vector<std::string> warnings;
  Log log;
  log.warning = [&](std::string_view text) { warnings.emplace_back(text); };
  World world({.ranks = 2, .log = log});
  Outcome outcome = world.run([](Rank& rank) {
    DTensor x = ones(split);
    Context scope({.enable = rank.id() == 1, .mode = Mode::warn});
    rank.expect_same_bits(implicitly(x, replicated).to_local(), full({4, 2}, DType::float32, 1));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("rank 1: implicit redistribution by my::add"));
}

// Ranks outside the mesh have nothing that could move.
TEST(ExplicitRedistribution, RanksOutsideTheMeshPass) {
  World world({.ranks = 3});
  Outcome outcome = world.run([](Rank& rank) {
    MeshViewer viewer{.rank = rank.id(), .world_size = 3};
    DeviceMesh mesh = DeviceMesh::from_ranks(viewer, RankList::range(2), {2});
    DTensor x = distribute_tensor(full({4}, DType::float32, 1), mesh, split);
    Context scope;
    if (rank.id() < 2)
      expect_refused(x, replicated);
    else
      EXPECT_EQ(implicitly(x, replicated).to_local().element_count(), 0);
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace
}  // namespace simmesh
