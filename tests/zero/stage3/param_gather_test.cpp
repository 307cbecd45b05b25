#include "zero/stage3/param_gather.h"

#include <gmock/gmock.h>

#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/zero/cut_parameters.h"
#include "zero/stage3/partitioned_param.h"
#include "zero/stage3/partitioned_params.h"

namespace simmesh::zero {
namespace {

struct Cut : CutParameters {
  using CutParameters::CutParameters;

  void expect_whole(const std::vector<std::int64_t>& numels) {
    for (ParamId id : ids)
      EXPECT_SAME_BITS(
          (*params)[id].leaf().detach(),
          formula({numels[std::size_t(id)]}, {.rule = Rule::wide, .seed = std::uint64_t(id)}));
  }
};

// The bytes of gathered data at each point of a gather are those of the formulas in docs/zero.md:
// several by one all-gather take W times the sum of shards until the last member is waited for, and
// their own sizes from the first wait on; by all-reduce only the former, until the last release;
// one by one W times the shard each.
SIMMESH_TEST(ParamGather, BytesAreThoseOfTheFormulas, {.mesh = {3}, .schedules = 8}) {
  std::vector<std::int64_t> numels = {7, 6, 2};
  const std::int64_t flat = 4 * 3 * (3 + 2 + 1), copies = 4 * (7 + 6 + 2);
  for (GatherOptions options :
       {GatherOptions{}, GatherOptions{.by_all_reduce = true}, GatherOptions{.one_by_one = true}}) {
    Cut cut(numels, options);
    bool is_coalesced = !options.by_all_reduce && !options.one_by_one;
    EXPECT_EQ(gathered_bytes(), 0);
    cut.params->gather(cut.ids);
    EXPECT_EQ(gathered_bytes(), flat);
    cut.params->wait(0);
    EXPECT_EQ(gathered_bytes(), is_coalesced ? flat + copies : flat);
    cut.params->wait(1);
    cut.params->wait(2);
    EXPECT_EQ(gathered_bytes(), is_coalesced ? copies : flat);
    cut.expect_whole(numels);
    cut.params->release(0);
    std::int64_t left = is_coalesced ? 4 * (6 + 2) : options.by_all_reduce ? flat : 4 * 3 * (2 + 1);
    EXPECT_EQ(gathered_bytes(), left);
    cut.params->release(1);
    cut.params->release(2);
    EXPECT_EQ(gathered_bytes(), 0);
  }
}

// If this fails, a released parameter can be read, or a module sees another tensor after a gather.
SIMMESH_TEST(ParamGather, ModulesKeepOneLeaf, {.mesh = {2}, .schedules = 8}) {
  Cut cut({5}, {});
  Tensor seen = cut.module.parameter("p0");
  EXPECT_TRUE(seen.storage()->is_freed());
  cut.params->gather_blocking(cut.ids);
  EXPECT_FALSE(seen.storage()->is_freed());
  cut.expect_whole({5});
  cut.params->release(0);
  EXPECT_TRUE(seen.storage()->is_freed());
  EXPECT_EQ(gathered_bytes(), 0);
}

// A group of one rank communicates nothing and holds nothing twice.
SIMMESH_TEST(ParamGather, OneRankUsesItsShard, {.mesh = {1}, .schedules = 2}) {
  Cut cut({5, 3}, {});
  cut.params->gather(cut.ids);
  cut.params->wait(0);
  cut.params->wait(1);
  cut.expect_whole({5, 3});
  EXPECT_EQ(gathered_bytes(), 0);
  cut.params->release(0);
  cut.params->release(1);
}

// Lists that differ between ranks are reported with the place where they do.
TEST(PartitionedParams, NameTheEntryInWhichRanksDiffer) {
  using ::testing::HasSubstr;
  for (auto [second, phrase] :
       {std::pair(std::vector<std::int64_t>{1, 5, 3}, "entry 1 is 2 there, 5 here"),
        std::pair(std::vector<std::int64_t>{1, 2}, "3 entries there, 2 here")}) {
    World world({.ranks = 2});
    std::vector<std::int64_t> of_ranks[] = {{1, 2, 3}, second};
    Outcome outcome = world.run([&](Rank& rank) {
      Cut cut({4}, {});
      cut.params->agree("modules in the trace", of_ranks[rank.id()]);
    });
    EXPECT_FALSE(outcome.ok());
    EXPECT_THAT(report(outcome), HasSubstr("rank 1: expected the modules in the trace of rank 0"));
    EXPECT_THAT(report(outcome), HasSubstr(phrase));
  }
}

}  // namespace
}  // namespace simmesh::zero
