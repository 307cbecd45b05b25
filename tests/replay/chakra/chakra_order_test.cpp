#include "replay/chakra/chakra_order.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

using Ids = std::vector<std::uint64_t>;

ChakraTrace graph_of(const std::vector<std::pair<std::uint64_t, Ids>>& nodes) {
  ChakraTrace trace;
  for (const auto& [id, needed] : nodes) trace.nodes.push_back({.id = id, .data_deps = needed});
  return trace;
}

TEST(ChakraOrder, TakesTheSmallestIdThatIsReady) {
  EXPECT_EQ(chakra_order(graph_of({{5, {}}, {1, {4}}, {4, {}}, {2, {5}}, {3, {1, 2}}})),
            (Ids{4, 1, 5, 2, 3}));
  EXPECT_EQ(chakra_order({}), Ids());
}

// Some traces name a dependency twice, or one that isn't there.
TEST(ChakraOrder, CountsADependencyOnce) {
  EXPECT_EQ(chakra_order(graph_of({{1, {2, 2, 9}}, {2, {}}})), (Ids{2, 1}));
}

TEST(ChakraOrder, LeavesOutCirclesAndWhatNeedsThem) {
  EXPECT_EQ(chakra_order(graph_of({{1, {1}}, {2, {3}}, {3, {2}}, {4, {3}}, {5, {}}})), (Ids{5}));
}

TEST(ChakraOrder, FollowsALongChain) {
  ChakraTrace trace;
  Ids expected;
  for (std::uint64_t id = 1; id <= 100'000; ++id) {
    trace.nodes.push_back({.id = 100'001 - id, .data_deps = Ids{100'002 - id}});
    expected.push_back(100'001 - id);
  }
  EXPECT_EQ(chakra_order(trace), expected);
}

}  // namespace
}  // namespace simmesh::replay
