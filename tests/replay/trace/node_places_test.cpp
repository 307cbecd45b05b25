#include "replay/trace/node_places.h"

#include <gtest/gtest.h>
#include <limits>

namespace simmesh::replay {
namespace {

ExecutionTrace of_ids(const std::vector<std::int64_t>& ids) {
  ExecutionTrace trace;
  for (std::int64_t id : ids) trace.nodes.push_back({.id = id});
  return trace;
}

TEST(NodePlaces, FindsEveryIdAndNoOther) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& ids :
       {std::vector<std::int64_t>{}, {5}, {-3, -2, 0, 4}, {1, 2, 1000000}, {least, 0, most}}) {
    ExecutionTrace trace = of_ids(ids);
    NodePlaces places(trace);
    for (std::uint32_t i = 0; i < ids.size(); ++i) EXPECT_EQ(places.find(ids[i]), i);
    for (std::int64_t other : {std::int64_t(-4), std::int64_t(3), std::int64_t(6), most - 1})
      EXPECT_EQ(places.find(other), std::nullopt);
  }
}

TEST(NodePlaces, FindsTheFirstOfSeveral) {
  ExecutionTrace trace = of_ids({1, 4, 4, 5});
  EXPECT_EQ(NodePlaces(trace).find(4), 1u);
  trace = of_ids({1, 4, 4, 500});
  EXPECT_EQ(NodePlaces(trace).find(4), 1u);
}

}  // namespace
}  // namespace simmesh::replay
