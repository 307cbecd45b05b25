#include "replay/validate/first_divergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/replay/validate/made_view.h"

namespace simmesh::replay {
namespace {

using ::testing::HasSubstr;
using testing::MadeTrace;

// A collective of a list: its sequence number and its elements.
struct ListEntry {
  std::int64_t sequence;
  std::int64_t elements;
};

RankTrace trace_with(std::int64_t rank, const std::vector<ListEntry>& entries) {
  MadeTrace made(rank);
  made.group("0", {0, 1});
  for (const ListEntry& entry : entries)
    made.add({.rank = rank,
              .in = {entry.elements},
              .out = {entry.elements},
              .sequence = entry.sequence});
  return made.done();
}

// Returns the finding about rank 1, compared with rank 0.
Finding divergence_of(const std::vector<ListEntry>& own, const std::vector<ListEntry>& other) {
  TraceJob job;
  job.ranks.push_back(trace_with(0, other));
  job.ranks.push_back(trace_with(1, own));
  testing::MadeView made(job);
  GroupTraffic traffic = made.traffic().at(0);
  return first_divergence(made.view, *traffic.group, traffic.members[1], traffic.members[0]);
}

TEST(FirstDivergence, SequenceNumbersTellWhichOneIsMissing) {
  Finding finding = divergence_of({{1, 8}, {3, 8}}, {{1, 8}, {2, 8}, {3, 8}});
  EXPECT_EQ(to_string(finding),
            "error count: rank 1 node 4 name: in the group of ranks [0, 1] rank 1 has 2 "
            "collectives, rank 0 has 3: it never joins rank 0 node 4 allreduce; its own at that "
            "place: rank 1 node 4 allreduce");
}

// Each one of five that may be missing or too much, with and without useful numbers.
TEST(FirstDivergence, FindsEachPlace) {
  std::vector<ListEntry> all;
  for (std::int64_t k = 0; k < 5; ++k) all.push_back({k + 7, 8 * (k + 1)});
  for (bool has_numbers : {true, false})
    for (std::size_t k = 0; k < all.size(); ++k) {
      std::vector<ListEntry> fewer = all;
      fewer.erase(fewer.begin() + std::ptrdiff_t(k));
      if (!has_numbers)
        for (ListEntry& entry : fewer) entry.sequence = 0;
      Finding missing = divergence_of(fewer, all);
      EXPECT_THAT(missing.message, HasSubstr(fmt::format("it never joins rank 0 node {} ", k + 3)));
      EXPECT_EQ(missing.node.has_value(), k + 1 < all.size());
      Finding extra = divergence_of(all, fewer);
      EXPECT_EQ(extra.node, std::int64_t(k) + 3);
      EXPECT_THAT(extra.message,
                  HasSubstr(fmt::format("rank 0 never joins rank 1 node {} ", k + 3)));
    }
}

TEST(FirstDivergence, OfEqualCollectivesWithoutNumbersTheLastIsNamed) {
  Finding finding = divergence_of({{0, 8}, {0, 8}, {0, 8}}, {{0, 8}, {0, 8}});
  EXPECT_EQ(finding.node, 5);
  EXPECT_THAT(finding.message, HasSubstr("its own at that place: none follows"));
}

}  // namespace
}  // namespace simmesh::replay
