#include "core/engine/search/search_state.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

SearchState some_state() {
  SearchState state{.program = 0xabc, .shard = {2, 3}, .given_up = 4, .has_begun = true};
  state.known.kept = {1, 0xff};
  state.known.splits_steps = true;
  state.findings.classes = 77;
  state.findings.share_done = 0.1;
  state.findings.one_data_hash = false;
  state.findings.failed = EventOrder{1, 0, 0};
  state.data_hash = 0x1234;
  state.has_touches = true;
  state.parts.emplace_back(std::vector<WaitingOrder>{{{0, 1}, 0.25}, {{}, 1.0 / 3}});
  state.parts.emplace_back(std::vector<WaitingOrder>{{{2}, 0.5}});
  return state;
}

// If this fails, a search that goes on from a file leaves out classes or runs some twice.
TEST(SearchState, IsReadAsItWasWritten) {
  std::string text = some_state().to_text();
  SearchState read = search_state_from(text);
  EXPECT_EQ(read.to_text(), text);
  EXPECT_EQ(read.parts.size(), 2u);
  EXPECT_EQ(read.parts[0].waiting()[1].share, 1.0 / 3);
  EXPECT_EQ(read.findings.failed, (EventOrder{1, 0, 0}));
  EXPECT_TRUE(read.known == some_state().known);
  EXPECT_EQ(search_state_from(SearchState{}.to_text()).to_text(), SearchState{}.to_text());
}

TEST(SearchState, RefusesOtherFiles) {
  expect_error([] { search_state_from("{}"); }, ErrorKind::value_error, "begins with");
  expect_error([] { search_state_from("simmesh search 1\nfound x\n"); }, ErrorKind::value_error,
               "line 2 of the file of a search: expected a number, got 'x'");
  expect_error([] { search_state_from("simmesh search 1\nwait 1 0\n"); }, ErrorKind::value_error,
               "expected a line of a search, got 'wait'");
}

// If this fails, shards are put together that don't belong together, or some are left out.
TEST(SearchState, ShardsAreUnitedOnlyIfTheyAreAllOfOneSearch) {
  auto shard = [](std::uint64_t index) {
    SearchState state = some_state();
    state.shard = {index, 2};
    return state;
  };
  SearchState all = united({shard(2), shard(1)});
  EXPECT_EQ(all.findings.classes, 154u);
  EXPECT_EQ(all.parts.size(), 4u);
  EXPECT_EQ(all.shard, JobShard{});
  expect_error([&] { united({shard(1)}); }, ErrorKind::value_error, "expected all 2 shards");
  expect_error([&] { united({shard(1), shard(1)}); }, ErrorKind::value_error, "each once");
  SearchState other = shard(2);
  other.program = 5;
  expect_error([&] { united({shard(1), other}); }, ErrorKind::value_error, "another one");
  SearchState knows_more = shard(2);
  knows_more.known.kept.insert(9);
  SearchState again = united({shard(1), knows_more});
  EXPECT_FALSE(again.has_begun);
  EXPECT_EQ(again.known.kept.size(), 3u);
  EXPECT_EQ(again.findings.classes, 0u);
}

}  // namespace
}  // namespace simmesh
